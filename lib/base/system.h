// System calls beyond POSIX, in one place. system_linux.cc has them; system_posix.cc (MODELUTILS_POSIX_ONLY) does
// without. Results are correct without any of them; they save time or give more precise messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <thread>

#include "base/types.h"

namespace modelutils::system {

/// Fills `out` with unpredictable bytes. Returns false if none are available without waiting.
bool random_bytes(void* out, std::size_t size);

/// Asks for large pages for memory that begins on a page boundary.
void prefer_large_pages(void* memory, std::size_t bytes);

/// Copies at most `size` bytes between files inside the kernel. Returns the number copied, or 0 or less if it cannot.
i64 copy_range(int from, u64 offset, int to, u64 position, u64 size);

/// Starts writing a range of a file to its device without waiting.
void start_write_back(int descriptor, u64 offset, u64 size);
/// Waits for start_write_back(). Returns 0 or the errno value, which a later fsync() would not report again.
int end_write_back(int descriptor, u64 offset, u64 size);

enum class RenameMode { no_replace, exchange };
/// Returns false and sets errno on failure. rename_is_unsupported() then returns true if the system or the file system
/// lacks the mode.
bool rename(RenameMode mode, const std::string& from, const std::string& to);
bool rename_is_unsupported();

/// True if `path` is a mount point, or nullopt if the system does not report it.
std::optional<bool> is_mount_root(const std::string& path);

/// True if files in this folder can share blocks with other files on their file system (reflinks).
bool has_shared_blocks(const std::string& folder);

/// Takes a lease on a file, which succeeds only if no other process has it open. Returns 0 or the errno value (EAGAIN
/// if another has it open).
int take_lease(int descriptor);

/// Returns the open() flag for a folder that only serves as a base for opening other files.
int search_only();

/// True if running with elevated privileges (setuid, file capabilities).
bool has_more_rights();

/// Returns the path of the running executable, or empty if unknown.
std::string own_program();

/// True if an aarch64 processor has carry-less multiplication. False on other processors, which have their own check.
bool has_carryless_product();

enum class Processor : unsigned char { own, other };

/// Starts a newly created thread on the calling thread's processor or on the other one, if there are two. A kernel may
/// leave it queued behind the creating thread until that thread's time slice ends: measured 1 to 4 ms instead of 0.05
/// ms; or leave two threads on one processor for 0.1 s. The thread may move later. With more than two processors,
/// leaves the choice to the kernel.
void begin_on(std::jthread& thread, Processor processor);

/// Returns the name of the running program. Does not allocate.
const char* program_name();

}  // namespace modelutils::system

// What the system offers beyond POSIX, in one place: system_linux.cc, or system_posix.cc, which does without
// (MODELUTILS_POSIX_ONLY). Nothing here is needed for a right answer; it saves time, or says more.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <thread>

#include "base/types.h"

namespace modelutils::system {

/// Fills `out` with numbers that nobody can guess; false if there are none at once.
bool random_bytes(void* out, std::size_t size);

/// Asks for large pages for memory that begins at a page's start.
void prefer_large_pages(void* memory, std::size_t bytes);

/// Copies between files inside the kernel, at most `size` bytes; how many, and 0 or less where it cannot.
i64 copy_range(int from, u64 offset, int to, u64 position, u64 size);

/// Has the bytes of a file written to its device, without waiting.
void start_write_back(int descriptor, u64 offset, u64 size);
/// Waits for that; 0, or the number of the error, which fsync() does not tell again.
int end_write_back(int descriptor, u64 offset, u64 size);

enum class RenameMode { no_replace, exchange };
/// False with errno where it fails; rename_is_unsupported() then says whether the system or the file system cannot.
bool rename(RenameMode mode, const std::string& from, const std::string& to);
bool rename_is_unsupported();

/// Is a folder where a file system is mounted? Nothing where the system does not say.
std::optional<bool> is_mount_root(const std::string& path);

/// May files in this folder share the blocks of others of its file system?
bool has_shared_blocks(const std::string& folder);

/// Takes a lease on a file, which nobody else then has open: 0, or the number of the error (EAGAIN: somebody has).
int take_lease(int descriptor);

/// The flag of open() for a folder in which only other files are opened.
int search_only();

/// Has the program more rights than whoever started it?
bool has_more_rights();

/// The file of the running program; empty where the system does not say.
std::string own_program();

/// Does an aarch64 processor multiply without carries? False for others, which say it themselves.
bool has_carryless_product();

/// Lets a thread that was just made begin on the other of two processors. Kernels may leave it on that of the thread
/// that made it, which goes on there, until somebody's time slice ends: 1 to 4 ms were measured, against 0.05. It may
/// come back whenever they like. With more than two processors the choice is theirs.
void begin_apart(std::jthread& thread);

/// The name of the running program, without memory being allocated.
const char* program_name();

}  // namespace modelutils::system

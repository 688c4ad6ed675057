// Files and folders: the only calls of the operating system that concern them. Each system has its own implementation:
// posix/ with linux/ or macos/, or windows/. With MODELUTILS_POSIX_ONLY, portable/ replaces linux/linux_calls.cc.
//
// Paths are UTF-8 with '/' between their parts; each implementation converts them to its system's form. A function that
// fails returns false, nullopt or -1 and sets errno, on every system. Calls that a signal interrupts are repeated.
// Descriptors are not inherited by other programs.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/os/integers.h"

namespace modelutils::os {

inline constexpr int standard_input = 0, standard_output = 1, standard_error = 2;

// Information about files and folders.

enum class EntryKind : u8 { file, directory, link, other };

struct FileStatus {
  EntryKind kind = EntryKind::other;
  u64 device = 0, inode = 0;  ///< together they identify the file, whatever its name (Windows: volume and file index)
  u64 size = 0;
  u64 disk_bytes = 0;  ///< without holes (Windows: `size`)
  i64 modified = 0;    ///< nanoseconds since 1970
  u64 links = 1;       ///< number of names
  unsigned mode = 0;   ///< permissions, 07777 (Windows: 0666, or 0444 if it is read-only)
  unsigned owner = 0;  ///< number of the user (Windows: 0, which is everybody's)

  bool is_file() const { return kind == EntryKind::file; }
  bool is_folder() const { return kind == EntryKind::directory; }
  bool is_link() const { return kind == EntryKind::link; }
  bool is_same_file(const FileStatus& other) const { return device == other.device && inode == other.inode; }
};

/// Describe the target of `path`, an open file, or (link_status()) a link itself.
std::optional<FileStatus> status(const std::string& path);
std::optional<FileStatus> status(int descriptor);
std::optional<FileStatus> link_status(const std::string& path);
/// True if `path` leads to a folder. Any failure counts as no.
bool is_folder(const std::string& path);
/// True if this process may list the folder and open the files in it. (Windows: cannot be known before opening them.)
bool may_enter(const std::string& folder);
/// True if `path` is a mount point; nullopt if the system cannot tell.
std::optional<bool> is_mount_root(const std::string& path);

// Paths.

/// Returns the length of the prefix that ".." cannot leave, or 0 if the path is relative: "/" (Windows: also "C:/" and
/// "//server/share/"; paths like "C:a" are refused by all functions).
std::size_t root_size(std::string_view path);
inline bool is_absolute(std::string_view path) {
  return root_size(path) > 0;
}
/// Returns the path with the system's separators replaced by '/' (Windows; elsewhere unchanged).
std::string from_native(std::string path);
/// True if the system takes a part of the relative path `name` for something else than a name in a folder. (Windows:
/// '\\', drives, streams, devices, and names that end with '.' or ' ', which Windows removes. Never elsewhere.)
bool leads_elsewhere(std::string_view name);
/// Returns the absolute path of an existing file or folder, without links, "." and "..".
std::optional<std::string> resolve(const std::string& path);
/// Returns the text of a symbolic link. Fails with EINVAL if `path` is no link.
std::optional<std::string> read_link(const std::string& path);
std::optional<std::string> working_folder();

/// Calls visit(name, kind) for every entry of the folder except "." and "..", in the system's order, until it returns
/// false. `visit` may remove entries. Returns false and sets errno if the folder cannot be listed to its end.
bool list(const std::string& folder, const std::function<bool(std::string_view name, EntryKind kind)>& visit);

// Opening. On Windows, device names (NUL, COM1, CON, …) exist in every folder, so they fail with EINVAL.

enum OpenFlags : unsigned {
  reading = 0,
  writing = 1,
  reading_and_writing = 2,
  no_link = 4,   ///< fails with ELOOP if the last part of the path is a link
  no_wait = 8,   ///< does not wait for the other end of a FIFO
  a_folder = 16  ///< fails unless it is a folder
};

/// Opens an existing file or folder. Never makes a terminal the controlling one. With no_wait, if another process holds
/// a lease (take_lease()), waits for its release, at most a minute; the system revokes a lease after 45 seconds.
int open(const std::string& path, unsigned flags);
/// Creates a file for reading and writing; fails with EEXIST if the name is taken, even by a dangling link. Of several
/// processes only one succeeds. `mode` is reduced by the umask (Windows: the folder's access list is inherited).
int create(const std::string& path, unsigned mode);
/// Opens `name` in `folder` for reading, one path component at a time, so that no component is a link, not even one
/// created in the meantime (Windows: checks each component, then opens the whole path). ELOOP: a component is a link;
/// `last` is set if it is the last one. Fails with EINVAL if leads_elsewhere(name).
int open_without_links(const std::string& folder, std::string_view name, bool& last);
void close(int descriptor);

// Reading and writing. Fewer bytes than requested may be transferred.

i64 read(int descriptor, void* out, std::size_t size);
i64 read_at(int descriptor, void* out, std::size_t size, u64 offset);
i64 write(int descriptor, const void* data, std::size_t size);
i64 write_at(int descriptor, const void* data, std::size_t size, u64 offset);
/// Returns the current offset, or nullopt for pipes and the like.
std::optional<u64> position(int descriptor);
/// Sets the file's size. New bytes read as zeros, and are a hole if the file system has them.
bool set_size(int descriptor, u64 size);

/// Copies at most `size` bytes between files inside the kernel, sharing blocks if the file system can. Returns the
/// number copied, or 0 or less if it cannot. (Linux only.)
i64 copy_range(int from, u64 offset, int to, u64 position, u64 size);
/// True if files in this folder can share blocks with other files on their file system (reflinks).
bool has_shared_blocks(const std::string& folder);

/// Maps a whole file into memory for reading; nullptr if that fails. `size` must not be 0.
const std::byte* map(int descriptor, std::size_t size);
void unmap(const std::byte* data, std::size_t size);
/// Requests large pages for memory that begins on a page boundary.
void prefer_large_pages(void* memory, std::size_t bytes);

// Durability.

/// Returns after the file's bytes and size are on the device. Linux: fsync(). macOS: F_FULLFSYNC, as fsync() leaves
/// them in the device's cache; where the file system has no such call, fsync(). Windows: FlushFileBuffers().
bool sync(int descriptor);
/// Makes the folder's names durable: files created, renamed or removed in it. Also returns true if the file system has
/// no such call. Windows has none; there the renaming itself is written through.
bool sync_folder(const std::string& folder);
/// Starts writing a range of a file to its device without waiting. (Linux only.)
void start_write_back(int descriptor, u64 offset, u64 size);
/// Waits for start_write_back(). Returns 0 or the errno value, which a later sync() would not report again.
int end_write_back(int descriptor, u64 offset, u64 size);
/// Drops the pages of a range from the system's cache. (Does nothing on macOS and Windows.)
void drop_from_cache(int descriptor, u64 offset, u64 size);

// Names. The two that take a `const char*` do not allocate and may be called by a signal handler (Linux, macOS).

bool remove_file(const char* path);
bool remove_folder(const char* path);
inline bool remove_file(const std::string& path) {
  return remove_file(path.c_str());
}
/// The folder must be empty.
inline bool remove_folder(const std::string& path) {
  return remove_folder(path.c_str());
}
bool make_folder(const std::string& path, unsigned mode);
bool set_mode(const std::string& path, unsigned mode);
/// Renames a file or folder atomically: an existing file (Windows: not a folder) of that name is replaced, and the name
/// exists at every moment. Windows: fails with EACCES while the replaced file is open, unless the file system is NTFS
/// and whoever opened it shares its removal, as open() does.
bool rename(const std::string& from, const std::string& to);
/// Renames atomically, or fails with EEXIST if the name is taken. May be unsupported; see rename_is_unsupported().
bool rename_new(const std::string& from, const std::string& to);
/// Exchanges two names atomically. Not supported on Windows.
bool exchange(const std::string& one, const std::string& other);
/// After one of the last two functions failed: true if the system or the file system does not support the operation.
bool rename_is_unsupported();
/// Creates a hard link. Fails with EEXIST if the name is taken.
bool link(const std::string& existing, const std::string& name);

// Locks.

/// Takes a lease on a file, which succeeds only if no other process has it open. Returns 0 or the errno value: EAGAIN
/// if another has it open, ENOSYS if the system has no leases. (Linux only.)
int take_lease(int descriptor);

enum class EditLock : u8 {
  taken,
  held,     ///< another process edits the file
  unknown,  ///< the system or file system has no such locks
};

/// Locks the file of `descriptor`, which must be open for writing. The lock lasts until the last duplicate of the
/// descriptor is closed, and does not affect other readers and writers. Linux: an open file description lock; macOS:
/// flock(); Windows: a lock on a byte beyond any possible end of a file.
EditLock lock_for_edit(int descriptor);
/// True if another open file description holds the lock.
bool is_edit_locked(int descriptor);

// Access rights.

/// Attributes that copy_access() could not copy.
struct LostAccess {
  bool is_unexamined = false;     ///< the other file could not be examined; nothing was copied
  std::vector<std::string> what;  ///< "the group 100", "the access control list", …
  int reason = 0;                 ///< errno of the first failure
};

/// Gives the new file or folder `descriptor`, which only its owner can open so far, the mode, owner, group, access
/// control lists and user extended attributes of `path` (following links). If one of them cannot be copied, rights are
/// reduced: without the group, group and others get only the rights that both had; without a list, only the owner gets
/// any. Windows: the file keeps what it inherited from its folder, and nothing counts as lost.
LostAccess copy_access(const std::string& path, int descriptor);

// Space.

struct FreeSpace {
  u64 blocks = 0;  ///< that this user may write
  u64 block = 1;   ///< size of a file system block
};

/// Returns nullopt if the file system of `folder` does not report it.
std::optional<FreeSpace> free_space(const std::string& folder);

}  // namespace modelutils::os

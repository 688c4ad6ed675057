// Prepares the place of an output: its future location, a hidden temporary name, free space, the access rights of the
// file that it replaces, and the durability of changed names in a folder.
#pragma once

#include <string>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// Returns the absolute path of the output `path`: existing components are resolved, missing ones appended. Two outputs
/// collide if their places are equal. Returns `path` if it cannot be resolved; opening it will report that.
std::string output_place(const std::string& path);

/// Refuses an output in a download cache, even with --force: files there are named by checksum, and programs take them
/// for the published files. Error: "out-in-cache" (kind output).
Status refuse_output_in_cache(const std::string& path);

// Names of unfinished outputs: hidden, next to the final name, and identifying the process that writes them.

/// Returns ".NAME.HOST-BOOT-PID-N.tmp" in the folder of `path`. NAME is the base name, cut if too long; HOST and BOOT
/// are eight hexadecimal digits for this machine or container and for its boot; PID is this process; N is `attempt`.
/// The name may be taken already, so create the file with O_EXCL.
std::string temporary_name(const std::string& path, int attempt);

/// Removes temporary files that killed processes left behind for outputs named `path`: regular files of `owner` or this
/// user, with a temporary name from this machine, whose process has ended or belongs to an earlier boot. Files from
/// other machines remain, as their process may still run. Files that cannot be listed or removed are skipped.
void remove_abandoned(const std::string& path, unsigned owner);

// Makes changed names durable: a file created, renamed or removed in a folder survives a crash only after this.

/// Syncs the folder of the file `path`. Does nothing if the file system does not support it or the folder may not be
/// read. Error: "out-sync" (kind output).
Status sync_folder_of(const std::string& path);

// Copies access rights between files. A file that replaces another must not grant more rights than that one did.

/// Gives the new file or folder `descriptor`, which only its owner can open so far, the mode, owner, group, access
/// control lists and user extended attributes of `path` (following links). If one of them cannot be copied, rights are
/// reduced: without the group, group and others get only the rights that both had; without a list, only the owner gets
/// any. Returns the failures and their reasons as the predicate of a sentence about the new file, or empty if all was
/// copied.
std::string copy_access(const std::string& path, int descriptor);

// Checks the free space for an output before writing it.

/// Returns "out-space" (kind output) with both sizes if fewer than `bytes` are free on the file system of `path`'s
/// folder, or of its nearest existing parent. Succeeds for pipes, devices and file systems that do not report free
/// space.
Status check_free_space(const std::string& path, u64 bytes);

}  // namespace modelutils

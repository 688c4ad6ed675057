// Copies access rights between files. A file that replaces another must not grant more rights than that one did.
#pragma once

#include <string>

namespace modelutils {

/// Gives the new file or folder `descriptor`, which only its owner can open so far, the mode, owner, group, access
/// control lists and user extended attributes of `path` (following links). If one of them cannot be copied, rights are
/// reduced: without the group, group and others get only the rights that both had; without a list, only the owner gets
/// any. Returns the failures and their reasons as the predicate of a sentence about the new file, or empty if all was
/// copied.
std::string copy_access(const std::string& path, int descriptor);

}  // namespace modelutils

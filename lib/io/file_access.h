// Who may do what with a file. What takes the place of another file gives nobody more than that one did.
#pragma once

#include <string>

namespace modelutils {

/// Gives the new file or folder `descriptor`, which so far only its owner may open, the mode, owner, group, access
/// control lists and users' extended attributes of `path` (links are followed). What cannot be given takes away
/// instead: without the group, group and others get what both had; without a list, only the owner gets anything.
/// Returns what was not kept and why, as the predicate of a sentence about the new one; empty where all was.
std::string copy_access(const std::string& path, int descriptor);

}  // namespace modelutils

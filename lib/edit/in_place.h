// Changing a header where it is, so that the file is whole again after any interruption: undo journal first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "gguf/edit_journal.h"

namespace modelutils::edit {

struct HeaderChange {
  std::string path;
  gguf::EditJournal journal;  ///< the bytes that change, and digests of the header as it is now and as it shall be
  u64 file_size = 0;
};

/// From what the file has now, from its first byte to its data section, to a header of the same length.
HeaderChange header_change(std::string path, std::string_view before, std::string_view after, u64 file_size);

/// The bytes in which the two, of the same length, differ; what is less than a few bytes apart is one range.
std::vector<gguf::EditRange> changed_ranges(std::string_view before, std::string_view after);

/// Changes the header: journal (never replacing one), comparison with the plan, write, sync, journal away. If writing
/// fails, what was there is restored. No other descriptor of this process may be open on the file. `force`: also if
/// another process has the file open, or it has other names; then, and where it cannot be known, a remark says so.
///
/// Errors: "edit-in-cache"; of kind output: "out-open", "edit-owner", "edit-hard-links", "edit-in-use" (also: another
/// edit has its journal there), "edit-changed" (not what was planned for), "edit-journal-foreign", those of
/// AtomicOutput for the journal, "out-write", "out-sync".
Status change_header(const HeaderChange& change, bool force, Findings& remarks);

enum class Recovery : u8 {
  nothing_to_do,  ///< there is no journal
  restored,       ///< the old header is back
  completed,      ///< the new header was whole already
};

struct RecoverOptions {
  std::string journal;  ///< that of the interrupted edit, wherever it lies; empty: look next to the file
  bool force = false;   ///< also if another process has the file open
};

/// --recover: the journal under the file's own name, or one in its folder that was made under another name; that is
/// removed unless a file of its name is there, which may need it, too (a remark, "edit-journal-kept"). Errors: as
/// change_header(); "edit-journal-foreign" for a journal that does not count.
Result<Recovery> recover_header(const std::string& path, const RecoverOptions& options, Findings& remarks);

}  // namespace modelutils::edit

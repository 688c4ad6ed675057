// Which journal is of which file: by the header and the journal's digests, wherever the two were moved to.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/edit_journal.h"

namespace modelutils::gguf {

/// The finding of a file whose edit was interrupted.
inline constexpr std::string_view interrupted_code = "gguf-edit-interrupted";

inline constexpr std::string_view journal_ending = ".edit-journal";

/// "NAME.edit-journal" next to the file that `path` leads to, links resolved; empty if there is no such file.
std::string journal_path(const std::string& path);

/// A journal that counts.
struct FoundJournal {
  std::string path;
  EditJournal journal;
  EditState state = EditState::torn;
};

struct JournalSearch {
  std::optional<FoundJournal> found;
  std::string rejected;        ///< why what lies there does not count; empty if nothing does
  bool is_of_another = false;  ///< it is whole, and of another header
};

/// Who may have written a journal that counts.
enum class JournalOwner : u8 {
  trusted,  ///< the owner of the file, root, or the user of this process
  anybody,  ///< of a journal that the user names
};

/// Looks at one journal for the file that `file` reads. It counts if it is a regular file, not a link, of an owner
/// that is allowed, whole, and the header is in a state of its edit.
JournalSearch look_at_journal(const RandomAccessFile& file, const std::string& journal, JournalOwner owner);

/// The journal under the name that belongs to the file.
JournalSearch find_journal(const RandomAccessFile& file, const std::string& path);

/// The journals of other names in the file's folder.
struct MovedJournals {
  std::vector<FoundJournal> found;  ///< those that count: they were made under another name of the file
  std::string orphan;               ///< one that does not, cannot be told to be another's, and whose file is not there
  std::string why_orphan;           ///< why it does not count
  bool is_partial = false;          ///< there were more than 64 to look at
};

/// Looks for them. The folder is listed once for all files in it while it does not change.
MovedJournals find_moved_journals(const RandomAccessFile& file, const std::string& path);

/// What readers say: an error where the header may be torn, a warning ("gguf-edit-journal") where a journal lies next
/// to the file that does not count, under the file's name or that of a file which is not there. A file that has its
/// header whole under a name of its own has no finding.
std::optional<Finding> interrupted_edit(const RandomAccessFile& file, const std::string& path);

}  // namespace modelutils::gguf

// Finds the edit journal of a file by comparing headers and digests, so that both may be renamed or moved.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gguf/edit_journal.h"

namespace modelutils::gguf {

/// The finding code for a file whose edit was interrupted.
inline constexpr std::string_view interrupted_code = "gguf-edit-interrupted";

inline constexpr std::string_view journal_ending = ".edit-journal";

/// Returns "NAME.edit-journal" next to the file `path` resolves to, following links; empty if there is no such file.
std::string journal_path(const std::string& path);

/// A journal accepted for the file.
struct FoundJournal {
  std::string path;
  EditJournal journal;
  EditState state = EditState::torn;
};

struct JournalSearch {
  std::optional<FoundJournal> found;
  std::string rejected;        ///< why the journal found was not accepted; empty if there is none
  bool is_of_another = false;  ///< the journal is complete, but belongs to another header
};

/// Accepted owners of a journal.
enum class JournalOwner : u8 {
  trusted,  ///< the owner of the file, root, or the user of this process
  anybody,  ///< any owner: for a journal that the user names
};

/// Checks one journal against `file`. It is accepted if it is a complete regular file, not a link, has an allowed
/// owner, and the header is in a state of its edit.
JournalSearch look_at_journal(const RandomAccessFile& file, const std::string& journal, JournalOwner owner);

/// Checks the journal at journal_path().
JournalSearch find_journal(const RandomAccessFile& file, const std::string& path);

/// Journals in the file's folder that have other names than journal_path().
struct MovedJournals {
  std::vector<FoundJournal> found;  ///< accepted journals: they were made when the file had another name
  std::string orphan;               ///< a journal not accepted and not of another header, named after a file that does
                                    ///< not exist
  std::string why_orphan;           ///< why it was not accepted
  bool is_partial = false;          ///< the folder had more than 64 journals; the others were not checked
};

/// Finds such journals. The folder's listing is reused for further files in it as long as the folder does not change.
MovedJournals find_moved_journals(const RandomAccessFile& file, const std::string& path);

/// Returns the finding for readers: an error if the header may be torn; a warning ("gguf-edit-journal") if a journal
/// next to the file was not accepted and is named after this file or after one that does not exist. Returns nullopt for
/// a file with a complete header that is not named in this way.
std::optional<Finding> interrupted_edit(const RandomAccessFile& file, const std::string& path);

}  // namespace modelutils::gguf

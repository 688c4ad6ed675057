// The undo journal of an in-place edit: the header bytes before and after. It is next to the file from before the
// first changed byte is written until the last one has reached the disk, and is found by comparing headers and
// digests, so that both may be renamed or moved.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/random_access_file.h"

namespace modelutils::gguf {

/// A range of header bytes that an edit changes.
struct EditRange {
  u64 offset = 0;
  std::string before;
  std::string after;  ///< same length as `before`; empty in a version 1 journal, which does not store it
};

struct EditJournal {
  std::string writer;             ///< "process 17 on host", for messages; empty in version 1
  u64 header_size = 0;            ///< number of bytes at the start of the file that both digests cover
  std::string old_digest;         ///< XXH3-128 of the header before the edit, 16 bytes
  std::string new_digest;         ///< XXH3-128 of the header after the edit
  std::vector<EditRange> ranges;  ///< ascending, without overlap, within the header

  /// Encodes the journal as a file. Its last bytes are a digest of everything before them. Layout:
  /// docs/formats/edit-journal.md.
  std::string encode() const;
  /// Returns nullopt if the bytes are not a complete journal of version 1 or 2.
  static std::optional<EditJournal> decode(std::string_view bytes);
  /// True if the first eight bytes are the journal's magic.
  static bool has_magic(std::string_view bytes);
};

/// Returns the maximum size of a journal for a header of `header_size` bytes; saturates.
u64 most_journal_bytes(u64 header_size);

/// "process 17 on host", for this process.
std::string this_writer();

/// XXH3-128 of `bytes`.
std::string header_digest(std::string_view bytes);

enum class EditState : u8 {
  not_begun,  ///< the header is the old one
  torn,       ///< the header is partly old and partly new
  written,    ///< the header is the new one
};

/// The error of edit_state() if the journal belongs to the file but the file has changed since. Any other error means
/// that the journal belongs to another file.
inline constexpr std::string_view changed_since_journal = "the file has changed since it was written";

/// Returns the state of the edit in the header of `file`, or an explanation if the header does not match the journal:
/// every byte outside the ranges must be unchanged, and each byte inside must be the old or the new one. Only the
/// header identifies the file, because names, inodes, owners and sizes change when a folder is copied or moved.
tl::expected<EditState, std::string> edit_state(const EditJournal& journal, const RandomAccessFile& file);

// Finds the edit journal of a file by comparing headers and digests, so that both may be renamed or moved.

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
  std::string orphan;               ///< a rejected journal, though not of another header, named after a missing file
  std::string why_orphan;           ///< why it was not accepted
  bool is_partial = false;          ///< the folder had more than 64 journals; the rest were not checked
};

/// Finds such journals. The folder's listing is reused for other files in it until the folder changes.
MovedJournals find_moved_journals(const RandomAccessFile& file, const std::string& path);

/// Returns the finding for readers: an error if the header may be torn; a warning ("gguf-edit-journal") if a journal
/// next to the file was not accepted and is named after this file or after one that does not exist. Returns nullopt for
/// a file with a complete header that is not named in this way.
std::optional<Finding> interrupted_edit(const RandomAccessFile& file, const std::string& path);

}  // namespace modelutils::gguf

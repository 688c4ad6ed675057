// The undo journal of an edit in place: what stood in the header before. It lies next to the file from before the first
// changed byte is written until the last one is on the disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/random_access_file.h"

namespace modelutils::gguf {

/// The finding of a file whose edit was interrupted.
inline constexpr std::string_view interrupted_code = "gguf-edit-interrupted";

/// Bytes of the header as they were.
struct UndoRange {
  u64 offset = 0;
  std::string before;
};

struct EditJournal {
  std::string boot;  ///< the system's boot id: device numbers mean something within one boot only
  u64 device = 0;
  u64 inode = 0;
  u64 file_size = 0;
  u64 header_size = 0;     ///< bytes of the file that the two digests are of
  std::string old_digest;  ///< XXH3-128 of the header before, 16 bytes
  std::string new_digest;  ///< and after
  std::vector<UndoRange> ranges;

  /// The journal as a file; its last bytes are a digest of all before. Layout: docs/formats/edit-journal.md.
  std::string encode() const;
  /// Nothing if the bytes are not a whole journal of a version that we know.
  static std::optional<EditJournal> decode(std::string_view bytes);
};

/// "NAME.edit-journal" next to the file that `path` leads to, links resolved; empty if there is no such file.
std::string journal_path(const std::string& path);

/// The boot id; empty where the system has none.
std::string boot_id();

/// XXH3-128 of `bytes`.
std::string header_digest(std::string_view bytes);

enum class EditState : u8 {
  not_begun,  ///< the header is still the old one
  torn,       ///< between the two
  written,    ///< the header is the new one
};

/// A journal that counts.
struct FoundJournal {
  std::string path;
  EditJournal journal;
  EditState state = EditState::torn;
};

/// What lies next to a file under the name of its journal. A journal counts if it is a regular file of the same owner
/// and of this very file: same inode, size and, within one boot, device, and what the header has outside of the
/// journal's ranges is what it had.
struct JournalSearch {
  std::optional<FoundJournal> found;
  std::string rejected;  ///< why what lies there does not count; empty if nothing does
};

/// Looks for the journal of the file that `file` reads, under the name that `path` leads to. Reads the header only if
/// there is one. What cannot be read does not count.
JournalSearch find_journal(const RandomAccessFile& file, const std::string& path);

/// What readers say of a file with a journal.
std::optional<Finding> interrupted_edit(const RandomAccessFile& file, const std::string& path);

}  // namespace modelutils::gguf

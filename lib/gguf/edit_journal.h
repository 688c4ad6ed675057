// The undo journal of an edit in place: what stood in the header before, and what shall stand there. It lies next to
// the file from before the first changed byte is written until the last one is on the disk.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "io/random_access_file.h"

namespace modelutils::gguf {

/// Bytes of the header that an edit changes.
struct EditRange {
  u64 offset = 0;
  std::string before;
  std::string after;  ///< as long as `before`; empty in a journal of version 1, which does not say
};

struct EditJournal {
  std::string writer;             ///< "process 17 on host", for messages; empty in version 1
  u64 header_size = 0;            ///< bytes of the file that the two digests are of
  std::string old_digest;         ///< XXH3-128 of the header before, 16 bytes
  std::string new_digest;         ///< and after
  std::vector<EditRange> ranges;  ///< ascending, without overlap, within the header

  /// The journal as a file; its last bytes are a digest of all before. Layout: docs/formats/edit-journal.md.
  std::string encode() const;
  /// Nothing if the bytes are not a whole journal of version 1 or 2.
  static std::optional<EditJournal> decode(std::string_view bytes);
  /// Do the first eight bytes say that it is one?
  static bool has_magic(std::string_view bytes);
};

/// The largest journal that a header of so many bytes can have; saturates.
u64 most_journal_bytes(u64 header_size);

/// "process 17 on host", of this process.
std::string this_writer();

/// XXH3-128 of `bytes`.
std::string header_digest(std::string_view bytes);

enum class EditState : u8 {
  not_begun,  ///< the header is still the old one
  torn,       ///< between the two
  written,    ///< the header is the new one
};

/// The reason of edit_state() where the journal is the file's, but the file has changed; any other says that it is of
/// another file.
inline constexpr std::string_view changed_since_journal = "the file has been changed since it was made";

/// Which state of the journal's edit the header of `file` is in; or, as text, why it is in none: outside of the ranges
/// every byte must be what it was, and inside each must be the old or the new one. Nothing else says which file a
/// journal is of: names, inodes, owners and sizes change when a folder is copied or moved.
tl::expected<EditState, std::string> edit_state(const EditJournal& journal, const RandomAccessFile& file);

}  // namespace modelutils::gguf

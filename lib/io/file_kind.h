// What a file is that is not what it should be: so that the answer to a wrong file is a helpful one.
#pragma once

#include <string>
#include <string_view>

#include "base/byte_source.h"
#include "base/types.h"

namespace modelutils {

/// Told apart by the first bytes alone. `unknown` is everything that no other row of the table (file_kind.cc) matches.
enum class FileKind : u8 {
  unknown,
  empty,
  gguf,
  gguf_legacy,  ///< GGML, GGJT, GGMF, GGLA: what came before GGUF
  bumpwgt,
  html,
  xml,
  error_text,  ///< what a server said instead of sending a file
  git_lfs,
  zip,     ///< also PyTorch checkpoints since 1.6
  npz,     ///< a ZIP archive whose first record is a NumPy array
  pickle,  ///< PyTorch checkpoints before 1.6
  numpy,
  hdf5,
  gzip,
  xz,
  zstd,
  bzip2,
  seven_zip,
  tar,
  pdf,
  elf,
  zeros,  ///< nothing but zero bytes: a download that was preallocated and never filled
};

/// Does it begin with the mark of a pickle's protocol, 1 to 5, and an operation behind it?
bool begins_as_pickle(std::string_view head);
/// Does it begin with the length of a safetensors header and a JSON object? Such a length may be the mark of a pickle
/// as well: 640 is 80 02, and what follows decides.
bool begins_as_safetensors(std::string_view head);

/// Bytes of the beginning that file_kind() looks at.
inline constexpr std::size_t file_kind_bytes = 512;

/// The kind of a file that begins with `head` (at least file_kind_bytes of it, or all there is).
FileKind file_kind(std::string_view head);

/// The same for a source; `unknown` if it cannot be read.
FileKind file_kind(const ByteSource& source);

/// For people, to stand after "is ": "an HTML page: …", with what to do about it where that is known.
/// "of no known kind" for `unknown`.
std::string_view file_kind_text(FileKind kind);

/// The first bytes of `source`, at most `most` (fewer at its end). Empty if it cannot be read.
std::string read_head(const ByteSource& source, std::size_t most = file_kind_bytes);

}  // namespace modelutils

// Recognises file formats by their first bytes, so that messages about a wrong file are helpful.
#pragma once

#include <string>
#include <string_view>

#include "base/byte_reader.h"
#include "base/types.h"

namespace modelutils {

/// Determined by the first bytes alone. `unknown` if no row of the table in file_kind.cc matches.
enum class FileKind : u8 {
  unknown,
  empty,
  gguf,
  gguf_legacy,  ///< GGJT, GGMF, GGLA: predecessors of GGUF
  ggml,         ///< the first of them; models of whisper.cpp still begin with it
  whisper,      ///< a model of whisper.cpp
  bumpwgt,
  html,
  xml,
  error_text,  ///< a server's error message instead of a file
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
  zeros,  ///< only zero bytes: a download that was preallocated and never filled
};

/// True if `head` begins with a pickle protocol marker, 1 to 5, followed by an opcode.
bool begins_as_pickle(std::string_view head);
/// True if `head` begins with a safetensors header length and a JSON object. The length alone is ambiguous: 640 is 80
/// 02, a pickle marker, so the next bytes decide.
bool begins_as_safetensors(std::string_view head);

/// Number of leading bytes that file_kind() examines.
inline constexpr std::size_t file_kind_bytes = 512;

/// Returns the kind of a file that begins with `head`: at least file_kind_bytes, or the whole file.
FileKind file_kind(std::string_view head);

/// Returns the kind of a source; `unknown` if it cannot be read.
FileKind file_kind(const ByteSource& source);

/// Returns the text for messages, to follow "is ": "an HTML page: …", with advice if there is any. "of no known kind"
/// for `unknown`.
std::string_view file_kind_text(FileKind kind);

/// Returns the first bytes of `source`, at most `most` (fewer if it is shorter). Empty if it cannot be read.
std::string read_head(const ByteSource& source, std::size_t most = file_kind_bytes);

}  // namespace modelutils

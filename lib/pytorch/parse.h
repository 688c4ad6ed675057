// Parses a PyTorch checkpoint into pytorch::Document. Reads the pickle and the record headers, but no tensor data, and
// executes nothing. Source: docs/formats/pytorch.md.
#pragma once

#include <string_view>

#include "base/byte_source.h"
#include "pytorch/document.h"

namespace modelutils::pytorch {

/// Number of bytes that is_checkpoint() needs from the start of a file.
inline constexpr std::size_t recognition_bytes = 512;

/// True if a file that starts with `head` is meant as a PyTorch checkpoint, even if it is broken: a ZIP archive whose
/// first record is one of torch's or whose name has a checkpoint's ending (.bin .pt .pth .ckpt), a pickle of protocol 1
/// to 5, or, with such an ending, a protocol 0 pickle that starts with an import.
bool is_checkpoint(std::string_view head, std::string_view name);

/// Parses a checkpoint in either form. Problems are findings of class error; `tensors` then has what could be read
/// anyway. Fails only if reading fails, or with "pt-size" for a source of unknown size (a pipe).
///
/// Bounded regardless of the file's contents: 64 MiB of pickle, 8 million values, linear time.
Result<Document> parse(const ByteSource& source);

}  // namespace modelutils::pytorch

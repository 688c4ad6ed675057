// Bytes -> pytorch::Document. Reads the pickle and the records' headers, never the storages; runs nothing.
// Source: docs/formats/pytorch.md.
#pragma once

#include <string_view>

#include "base/byte_source.h"
#include "pytorch/document.h"

namespace modelutils::pytorch {

/// Bytes of a file's beginning that is_checkpoint() looks at.
inline constexpr std::size_t recognition_bytes = 512;

/// Is a file that begins with `head` a PyTorch checkpoint, however broken: a ZIP archive whose first record is one of
/// torch's or whose name ends as checkpoints' do (.bin .pt .pth .ckpt), a pickle of protocol 1 to 5, or
/// under such a name an older one that begins with an import?
bool is_checkpoint(std::string_view head, std::string_view name);

/// Reads a checkpoint of either form. Whatever is wrong with it is a finding of class error; `tensors` then holds what
/// could be read all the same. Errors: those of reading; "pt-size" for a source without a size (a pipe).
///
/// Costs at most 64 MiB of pickle, 8 million values and linear time, whatever the file says.
Result<Document> parse(const ByteSource& source);

}  // namespace modelutils::pytorch

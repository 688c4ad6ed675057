// A small model whose keys a test can change.
#pragma once

#include <functional>

#include "formats/gguf/parse.h"
#include "model/memory/fit.h"
#include "support/gguf_builder.h"

namespace modelutils::test {

/// Two layers; 4 heads, 2 key-value heads, head size 16. Keys written by `change` come before the dimensions.
inline gguf::SplitSet small_model(const std::string& architecture, const std::function<void(GgufBuilder&)>& change,
                                  bool has_context = true) {
  GgufBuilder file;
  file.key_string("general.architecture", architecture);
  if (has_context) file.key_u32(architecture + ".context_length", 8192);
  change(file);
  file.key_u32(architecture + ".block_count", 2)
      .key_u32(architecture + ".embedding_length", 64)
      .key_u32(architecture + ".feed_forward_length", 128)
      .key_u32(architecture + ".attention.head_count", 4)
      .key_u32(architecture + ".attention.head_count_kv", 2)
      .tensor({"token_embd.weight", {64, 100}, 1})
      .tensor({"blk.0.attn_q.weight", {64, 64}, 1})
      .tensor({"blk.1.attn_q.weight", {64, 64}, 1})
      .tensor({"output.weight", {64, 100}, 1});
  const std::string header = file.build_header();
  const Bytes bytes = std::as_bytes(std::span(header));
  auto source = std::make_shared<MemoryFile>(std::vector<std::byte>(bytes.begin(), bytes.end()), "small.gguf");
  gguf::SplitSet set;
  set.files.push_back({"small.gguf", source, *gguf::parse(*source)});
  return set;
}

}  // namespace modelutils::test

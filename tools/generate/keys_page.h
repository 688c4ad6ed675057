// docs/keys.md, written from the table of keys, and the names that the project knows, for scripts/check-drift.
#pragma once

#include <string>

namespace modelutils::generate {

/// The whole page, Markdown.
std::string keys_page();

/// One name a line, behind what it is: "architecture llama", "key *.block_count", "tensor blk.#.attn_q",
/// "pre_tokenizer llama-bpe", "file_type Q4_K_M", "block_type q4_K", "projector mlp".
std::string known_names();

}  // namespace modelutils::generate

// Generates docs/keys.md from the table of keys, and the list of known names for scripts/check-drift.
#pragma once

#include <string>

namespace modelutils::generate {

/// Returns the whole page as Markdown.
std::string keys_page();

/// Returns one name per line, preceded by its kind: "architecture llama", "key *.block_count", "tensor blk.#.attn_q",
/// "pre_tokenizer llama-bpe", "file_type Q4_K_M", "block_type q4_K", "projector mlp".
std::string known_names();

}  // namespace modelutils::generate

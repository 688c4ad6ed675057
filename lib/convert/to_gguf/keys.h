// Builds the keys of a converted GGUF: general.* (docs/conversion.md, "Names"), those of the tokenizer, with the exact
// types that llama.cpp's loader requires, and those of models with blocks that predict further tokens.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "arch/sizes.h"
#include "convert/merge/merge.h"
#include "formats/gguf/write.h"
#include "formats/hf/config.h"
#include "formats/hf/config_members.h"
#include "formats/hf/model_card.h"
#include "tensor/types.h"
#include "tokenizer/tokenizer.h"

namespace modelutils {

// Helpers that add a key only if it has a value.

using Keys = std::vector<gguf::OutKey>;

inline void add_text(Keys& keys, std::string_view name, const std::optional<std::string>& text) {
  if (text) keys.push_back(gguf::make_key_string(std::string(name), *text));
}

/// Skips empty arrays, which some readers refuse.
inline void add_list(Keys& keys, std::string_view name, const std::vector<std::string>& items) {
  if (!items.empty()) keys.push_back(gguf::make_key_strings(std::string(name), items));
}

}  // namespace modelutils

namespace modelutils::to_gguf {

// Builds the general.* keys: name, origin and sampling defaults. Source: docs/conversion.md ("Names").

/// The model's name and its components. Unknown components are empty.
struct Identity {
  std::string name, organization, basename, finetune, version, size_label;
};

/// Finds the model's name. Components come from the model card; then, if `directory` is in the Hugging Face cache, from
/// its repository's name, otherwise from `_name_or_path` in config.json and then from the directory's name.
/// `parameters` is the model's parameter count; it tells size labels from context lengths.
Identity find_identity(const hf::ModelCard& card, const hf::Config& config, const std::string& directory,
                       u64 parameters);

struct GeneralFacts {
  std::string architecture;
  std::string_view type = "model";  ///< "mmproj" for a projector
  Identity identity;
  hf::Sampling sampling;
  u64 parameters = 0;         ///< elements of all tensors
  u64 expert_parameters = 0;  ///< elements of the stacked expert tensors
  u64 n_expert = 0;
  u32 file_type = 0;
};
/// Returns general.architecture (first), type, sampling.*, name, organization, basename, finetune, version, size_label,
/// file_type and quantization_version.
std::vector<gguf::OutKey> general_keys(const GeneralFacts& facts);

/// Returns general.lora.count, and general.lora.N.name and .scale for each merged adapter in order. Returns no keys if
/// `adapters` is empty.
std::vector<gguf::OutKey> adapter_keys(const std::vector<adapter::Wanted>& adapters);

/// Returns a size label such as "7.2B", "494M" or "8x7B".
std::string size_label(u64 parameters, u64 expert_parameters, u64 n_expert);

/// Returns the llama_ftype number for a model whose weights are mostly `type`.
u32 file_type_code(TensorType type);

/// Returns general.author, description, license*, base_model.*, dataset.*, tags, languages and datasets, but no empty
/// arrays. find_identity() handles the rest of the card.
std::vector<gguf::OutKey> model_card_keys(const hf::ModelCard& card);

}  // namespace modelutils::to_gguf

namespace modelutils {

// Writes a tokenizer::Tokenizer as GGUF keys, with the exact types that llama.cpp's loader requires.

/// Returns tokenizer.ggml.* and tokenizer.chat_template*: tokens and merges as string arrays, token_type as an INT32
/// array, scores as a FLOAT32 array, ids as UINT32, flags as BOOL.
std::vector<gguf::OutKey> tokenizer_keys(const tokenizer::Tokenizer& tokenizer);

/// Returns tokenizer.ggml.model = "no_vocab", for --no-vocab.
std::vector<gguf::OutKey> no_vocab_keys();

}  // namespace modelutils

namespace modelutils::to_gguf {

// Adapts and adds GGUF keys for models with blocks that predict further tokens.

/// Adds `blocks` to ARCH.block_count, inserts ARCH.nextn_predict_layers after it, and extends every per-layer key with
/// values for the blocks: from `sizes` (arch::sizes_of_blocks()), from PredictionForm::numbers, or repeating the last
/// layer's. A single number becomes a per-layer list if the blocks differ from it.
void add_prediction_keys(const arch::Family& family, const arch::Sizes& sizes, u64 blocks,
                         std::vector<gguf::OutKey>& keys);

/// Returns the key that marks a file as holding only the blocks (arch::extracted_key). `tensors` are all names of the
/// full model in order; layers from `trunk` (0-based) on are blocks.
gguf::OutKey extracted_from(const std::vector<std::string>& tensors, u64 trunk);

}  // namespace modelutils::to_gguf

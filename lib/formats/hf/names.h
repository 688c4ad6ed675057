// Names on the Hugging Face Hub: of models ("organisation/Base-Name-7B-Instruct-v0.2"), of tensors as far as they are
// independent of the architecture, and of a repository's files in the Hub's answer.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"
#include "io/remote_address.h"

namespace modelutils::hf {

// Parses tensor names of Hugging Face and MLX directories, as far as this is independent of the architecture.

/// Removes every "language_model.", "text_model." and "thinker.", which multimodal wrappers insert in several places,
/// and puts "model." before the layers, the embedding and the norm of a "language_model." that lacks it.
std::string canonical_name(std::string_view name);

/// The treatment of a tensor, determined by its canonical name.
enum class NameClass : u8 {
  keep,
  other_modality,  ///< vision, audio, projector: belongs in another file
  prediction,      ///< layers for multi-token prediction
  derived,         ///< rotary inv_freq, causal masks: never converted
};
/// Classifies a canonical name (canonical_name()).
NameClass classify_name(std::string_view canonical);

/// The suffix in "P.weight", "P.scales", "P.biases", "P.bias". Matches exactly.
enum class Suffix : u8 { none, weight, bias, scales, biases };
struct SplitName {
  std::string_view module;  ///< "model.layers.0.mlp.up_proj"; the whole name if it has no such suffix
  Suffix suffix = Suffix::none;
};
/// Splits off the suffix.
SplitName split_name(std::string_view name);

// Splits model names such as "organisation/Base-Name-7B-Instruct-v0.2", and derives a model's name from its directory.

/// The parts of a name, in its own spelling. Empty where the name gives none.
struct ModelId {
  std::string organization;  ///< "meta-llama"
  std::string name;          ///< without the organisation: "Llama-3.2-1B-Instruct"
  std::string basename;      ///< "Llama-3.2"
  std::string size_label;    ///< "1B", "8x7B", "30B-A3B"
  std::string finetune;      ///< "Instruct"
  std::string version;       ///< "v0.2"
};

/// Splits a name at `-` by the heuristics of llama.cpp's converter (gguf-py, metadata.py):
/// - A number, with or without `v`, is a version.
/// - A number with K, M, B or T is a size. If it is far from `parameters` (0: unknown), it is a context length and
/// belongs to the fine-tune.
/// - chat, instruct, vision, lora and parts after a size are the fine-tune.
/// - Words at the beginning are the base name.
///
/// A name with a space is a title and has no parts. A base name alone is too vague and is dropped. Suffixes that only
/// describe packing ("-4bit", "-mlx") are ignored.
ModelId parse_model_id(std::string_view id, u64 parameters);

/// Returns "Llama 3.2 Chat" for "llama-3.2-chat": dashes become spaces and lower-case words are capitalised; versions
/// and numbers are unchanged.
std::string model_title(std::string_view name);

/// Returns `name` without its suffixes that only describe packing: "-4bit", "-MLX", "-bf16", also several.
std::string_view without_packing(std::string_view name);

/// Returns the repository ("organisation/name" or a name) of a directory in the Hugging Face cache:
/// …/models--organisation--name/snapshots/REVISION, or any other path below models--organisation--name. Returns nullopt
/// for other paths.
std::optional<std::string> cached_repository(std::string_view path);

/// Returns `directory` with all links resolved and without a trailing '/'. Unresolvable paths are returned unchanged.
std::string resolved_path(const std::string& directory);

/// Returns the last component of the directory's resolved path. Empty if it is not UTF-8, or if it is a revision (40
/// hexadecimal digits), which is not a name.
std::string directory_name(const std::string& directory);

// Parses the Hugging Face Hub's answer about a repository: /api/models/ORG/REPO/revision/REV?blobs=true.

/// Parses the answer. Skips names that leave the folder (an empty part, ".", "..") or contain control characters, as
/// they cannot be requested safely. At most a million files. Codes: "json-syntax", "remote-listing".
Result<RemoteListing> parse_hub_listing(const std::string& text, const std::string& name);

/// Enables repositories at an address as folders (io/remote_address.h), by registering parse_hub_listing(). The tools
/// call it.
void read_hub_listings();

}  // namespace modelutils::hf

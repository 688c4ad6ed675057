// Names of models: "organisation/Base-Name-7B-Instruct-v0.2" taken apart, and the name that a directory stands for.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"

namespace modelutils::hf {

/// The parts of a name; empty where it does not tell. Texts are parts of the name, in its own spelling.
struct ModelId {
  std::string organization;  ///< "meta-llama"
  std::string name;          ///< all but the organisation: "Llama-3.2-1B-Instruct"
  std::string basename;      ///< "Llama-3.2"
  std::string size_label;    ///< "1B", "8x7B", "30B-A3B"
  std::string finetune;      ///< "Instruct"
  std::string version;       ///< "v0.2"
};

/// Takes a name apart by the heuristics of llama.cpp's converter (gguf-py, metadata.py): parts are separated by `-`; a
/// number with or without a `v` is a version, a number with K, M, B or T a size (unless it is far from `parameters`,
/// then it is a context length and belongs to the fine-tune; 0: not known), chat, instruct, vision, lora and what
/// follows a size a fine-tune, words at the beginning the base name. A name with a space is a title: no parts. A base
/// name alone is too vague and left out. Endings that only name a packing ("-4bit", "-mlx") are not part of the name.
ModelId parse_model_id(std::string_view id, u64 parameters);

/// "llama-3.2-chat" -> "Llama 3.2 Chat": dashes become spaces, words without capitals get one, versions and numbers
/// stay.
std::string model_title(std::string_view name);

/// `name` without endings that only name a packing: "-4bit", "-MLX", "-bf16", several of them.
std::string_view without_packing(std::string_view name);

/// The repository ("organisation/name" or a name) that a directory of the Hugging Face cache is a copy of:
/// …/models--organisation--name/snapshots/REVISION, or anything else below models--organisation--name.
std::optional<std::string> cached_repository(std::string_view path);

/// `directory` with all links resolved, without '/' at its end; as given if it cannot be resolved.
std::string resolved_path(const std::string& directory);

/// What the directory is called: its last component with links resolved. Empty if that is not UTF-8, or if it is a
/// revision (40 hexadecimal digits), which names nothing.
std::string directory_name(const std::string& directory);

}  // namespace modelutils::hf

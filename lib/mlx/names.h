// Names of tensors in Hugging Face and MLX directories, and what they are called in GGUF (docs/conversion.md,
// 0.7, 0.8, 1.4): the one table.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/types.h"
#include "hf/architecture.h"

namespace modelutils::mlx {

/// Without every occurrence of "language_model." (wrappers of multimodal models add it in several places).
std::string canonical_name(std::string_view name);

/// What to do with a tensor because of its (canonical) name alone.
enum class NameClass : u8 {
  keep,
  other_modality,  ///< vision, audio, projector, mtp: belongs to another file, left out with a notice
  derived,         ///< rotary inv_freq, causal masks: never carried
};
NameClass classify_name(std::string_view canonical);

/// The parts of "P.weight", "P.scales", "P.biases", "P.bias", matched exactly.
enum class Suffix : u8 { none, weight, bias, scales, biases };
struct SplitName {
  std::string_view module;  ///< "model.layers.0.mlp.up_proj"; the whole name if there is no such suffix
  Suffix suffix = Suffix::none;
};
SplitName split_name(std::string_view name);

/// Number N of "model.layers.N.…" in a canonical name.
std::optional<u64> layer_of(std::string_view canonical);

/// How a source module becomes (a part of) a GGUF tensor.
enum class Piece : u8 {
  whole,         ///< the tensor is the module's
  expert,        ///< one expert's matrix of a stack ("ffn_gate_exps"): slice `expert`
  gate_up_stack  ///< […, 2 × ff, …] of all experts: first half to "ffn_gate_exps", second to "ffn_up_exps"
};
struct GgufTarget {
  std::string module;  ///< without suffix: "blk.0.attn_q", "token_embd"; of gate_up_stack the gate's
  Piece piece = Piece::whole;
  std::optional<u64> layer;
  u64 expert = 0;  ///< for Piece::expert
};

/// The GGUF name of a module (canonical, without suffix); nothing if the architecture's table does not have it.
std::optional<GgufTarget> gguf_module(hf::Family family, std::string_view module);

/// gguf_module() for a full tensor name: the suffix .weight or .bias is kept ("blk.0.attn_q.weight"), no suffix counts
/// as .weight for stacks of experts. Nothing if unmapped, or for other suffixes.
std::optional<GgufTarget> gguf_tensor(hf::Family family, std::string_view canonical);

/// The other direction, for the names that map one to one: "blk.0.attn_q.weight" ->
/// "model.layers.0.self_attn.q_proj.weight".
std::optional<std::string> hf_tensor(hf::Family family, std::string_view gguf_name);

}  // namespace modelutils::mlx

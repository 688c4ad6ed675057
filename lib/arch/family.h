// What a model family is, as data: names, keys, tensors and limits. One file of lib/arch/families for each; the engine
// (names, values, plan, rules) reads these rows for everybody. How to add one: docs/adding-an-architecture.md.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "arch/cache_facts.h"
#include "arch/engine_facts.h"
#include "arch/row_text.h"
#include "arch/sizes.h"
#include "arch/tokenizer_facts.h"
#include "base/error.h"
#include "base/few.h"
#include "base/name_list.h"

namespace modelutils::hf {
struct Config;
}

namespace modelutils::arch {

class ConfigWriter;
class KeyWriter;
struct Family;

/// Must something be there? Absent: it must not.
enum class Need : u8 { absent, optional, required };

/// Type of a GGUF key. Loaders refuse another width.
enum class KeyType : u8 {
  u32,
  u32_of_some,     ///< one number; a file may also have an array with it in some layers and 0 in the others
  u32_or_layers,   ///< one number, or an array of one for each layer
  u32_where_used,  ///< the same; layers that have none (0) need no array, other rows tell which they are
  f32,
  f32_or_layers,
  flag,
  flag_layers,  ///< an array of flags, one for each layer
  flag_trunk,   ///< the same, never with one for a block that predicts further tokens
  text,
  u32_list,  ///< an array whose length is a matter of the key
  f32_list,
};

/// What a config.json without the field means.
enum class Missing : u8 {
  leave_out,  ///< no key is written
  assume,     ///< the fallback is written
  note,       ///< the same, with a note
  warn,       ///< the same, with a warning
  refuse,     ///< the conversion is refused
};

/// One hyper-parameter: a field of config.json and a key of a GGUF.
struct Key {
  std::string_view name;  ///< behind "<architecture>."
  KeyType type = KeyType::u32;
  std::string_view fields = {};    ///< of config.json, the first that is there wins: "num_attention_heads|n_head"
  std::string_view symbol = {};    ///< the size it states; solved from the tensors' shapes where they tell
  std::string_view fallback = {};  ///< an expression (f32: a number) for a config.json without the field
  Missing missing = Missing::leave_out;
  Need need = Need::optional;            ///< of the loader
  ConditionText when = {};               ///< written only where this holds
  std::string_view loader_default = {};  ///< an expression: what the loader takes for a missing key
  /// The size of a config.json that says it in other words ("partial_rotary_factor"); fields and fallback where it has
  /// nothing to say.
  std::optional<u64> (*derive)(const hf::Config&, const Sizes&) = nullptr;
  /// The same for sizes that differ from layer to layer: one value for each of the L layers; empty if config.json does
  /// not say. Wins over fields, so that a field may hold a list or a pattern.
  std::vector<u64> (*derive_layers)(const hf::Config&, const Sizes&) = nullptr;
  /// Writes this key, and others of its group, where a field alone does not tell. Rows without fields and without
  /// function are written by the function of another row; they are here for their type.
  Status (*write)(KeyWriter&, const Key&) = nullptr;
  /// The way back: writes the members of config.json that this key says, where a field alone does not tell.
  Status (*read)(ConfigWriter&, const Key&) = nullptr;
};

/// One tensor of a GGUF and where it comes from.
struct Tensor {
  /// Without "blk.N." and without ".weight" (".bias"); a name that begins with '@' is complete behind it; "@#key" is no
  /// tensor but a key with an array of the source's one number in each layer.
  std::string_view name;
  ShapeText ne;  ///< symbolic shape, ne0 first: "E,H*D"
  /// Names in Hugging Face and MLX directories, without layer prefix and suffix (complete if the name is):
  /// ALTERNATIVE | ALTERNATIVE …, each `[condition] PART + PART …`, the rows of the parts one after another. A part is
  /// `module{view}@operation…`: '#' in the module stands for the number of an expert, whose matrices are stacked;
  /// views: row_view.h; operations: names.h. `module{{view}}` is a view of single elements, the last axis on the left
  /// running within the source's rows: a transposition, which quantised rows do not survive (they become F32); biases
  /// are carried as they are. "=name" is a generated tensor (rope.h).
  SourceText source;
  Need need = Need::required;
  Need bias = Need::absent;  ///< of the same module; its shape is that of the weight without ne0 (of vectors: the same)
  ConditionText when = {};   ///< which layers have it
  bool f32 = false;          ///< needs F32 although it has two dimensions or more (one dimension always does)
  std::string_view plain = {};  ///< quantised sources become F32, and why
  /// Shape of the source in a directory, safetensors order, where it is not that of the rows it gives: alternatives as
  /// in `source`, "[mlx] I,Kc,1 | I,1,Kc".
  StoredText stored = {};
};

/// What is before and after the layers of nearly every family.
inline constexpr std::array<Tensor, 1> embedding = {{{"token_embd", "E,V", "model.embed_tokens"}}};
inline constexpr std::array<Tensor, 2> norm_and_head = {{
    {"output_norm", "E", "model.norm"},
    {"output", "E,V", "lm_head"},
}};

/// How a family gets its output head.
enum class OutputHead : u8 {
  optional,  ///< without output.weight the embedding is used
  never,     ///< output.weight makes the loader refuse the file; the embedding is always used
  always,    ///< some loaders insist on output.weight: a tied model gets a copy of the embedding
};

/// A symbol that is 1 in the layers that have a tensor and 0 in the others, for loaders that decide by it what else a
/// layer has.
struct Mark {
  std::string_view symbol;
  std::string_view tensor;  ///< name of a row of the layers; "NAME/H": instead of 1 how many rows it has for each of H
  bool in_gguf_only = false;  ///< directories never have the tensor
};

/// A setting that the runtime has wired in.
struct Fixed {
  std::string_view field;    ///< of config.json
  std::string_view value;    ///< as JSON has it: "true", "1", "silu"; several with '|'
  Severity severity;         ///< error: the conversion is refused
  std::string_view because;  ///< what the runtime does
  ConditionText when = {};
};

/// How a tensor tells whether a directory has mlx-lm's layout or the published one.
enum class Telling : u8 {
  convolution,     ///< [n, k, 1] by mlx-lm, [n, 1, k] as published
  tall_matrix,     ///< more rows than columns by mlx-lm, transposed as published
  name_of_mlx,     ///< mlx-lm alone gives the name
  published_name,  ///< mlx-lm changes the name when it saves the model
};

/// A tensor of a layer that tells. Named for families whose values depend on the layout (norms with one added,
/// multipliers applied, matrices transposed): mlx-lm goes by the same.
struct LayoutSign {
  std::string_view module;  ///< below the layer, without ".weight"
  Telling telling = Telling::convolution;
};

/// Two expressions that the runtime takes for equal.
struct Relation {
  ConditionText left, right;
  std::string_view field;    ///< of config.json, that an error names; none: only keys of a GGUF can break it
  std::string_view because;  ///< "every runtime of qwen2 takes hidden_size / heads"
};

/// A member of config.json that no key of a GGUF states.
struct Member {
  std::string_view field;
  std::string_view value;  ///< as JSON has it; "=H*D" the value of an expression; "@attn_q.bias" whether a layer has
                           ///< such a tensor
  ConditionText when = {};
};

/// What else a family's config.json says, for the way from a GGUF.
struct ConfigForm {
  std::string_view fields = {};  ///< of rows with several, those that it has: "n_embd|n_head"
  Few<Member, 9> members = {};
  Status (*describe)(ConfigWriter&) = nullptr;  ///< what rows cannot say
  std::string_view model_type = {};             ///< where it is not the first of the family's
  std::string_view text_model_type = {};        ///< of a multimodal class, whose members are those of a text_config
  /// What stands for "model." in the names of such a class: as mlx-lm saves them, as they were published. Where it is
  /// "language_model.model.", the head is below language_model, too.
  std::string_view mlx_text_prefix = "language_model.model.";
  std::string_view hf_text_prefix = "model.language_model.";
  bool only_mlx_names = false;  ///< mlx-lm's class does not read the published names, so plain directories have its own
};

/// The blocks behind the layers that predict further tokens, of families that have them in both worlds
/// (prediction_rows.h). A block has the rows of a layer, and some of its own.
struct PredictionForm {
  std::span<const Tensor> tensors = {};  ///< its own; none: such blocks are left out
  bool runs = false;                     ///< llama.cpp drafts with them; it loads and ignores the others
  /// Sizes that hold in a block, where those of the last layer do not: "Fi=1|F=Fx".
  std::string_view sizes = {};
  /// Numbers of a block in keys with one for each layer, where that of the last layer is not it: "KEY=1".
  std::string_view numbers = {};
  u64 parts = 1;  ///< so many layers of a directory ("mtp.layers.N") are one block
};

/// A rule that rows cannot say: refuses, or warns through the writer.
using Check = Status (*)(KeyWriter&);

struct Family {
  std::string_view name;         ///< unique; the page of architectures lists it
  std::string_view gguf;         ///< general.architecture
  std::string_view classes;      ///< of config.json architectures[0]: "LlamaForCausalLM|MistralForCausalLM"
  std::string_view model_types;  ///< of config.json
  std::string_view about = {};   ///< what is special, for the page of architectures
  /// What general.name should begin with for the runtime to treat the vocabulary as the model's own tokenizer does.
  std::string_view wanted_name = {};
  /// Of families that share a class or model type: is it this one? The first that has nothing to ask, or says yes, is.
  bool (*fits)(const hf::Config&) = nullptr;
  /// Families that share a GGUF architecture: the first whose condition holds for the file's keys.
  ConditionText gguf_when = {};
  /// A pre-tokenizer that no other family of the GGUF architecture has: a file with it is of this one.
  std::string_view gguf_pre = {};
  std::string_view layer_prefixes = "model.layers.";  ///< several with '|', that of mlx-lm first
  std::string_view hf_layer_prefix = {};              ///< as published, where that is not the first
  std::string_view activation = "silu";               ///< the one wired into the runtime, as config.json has it
  std::string_view activation_names = "silu|swish";   ///< spellings of it
  OutputHead head = OutputHead::optional;
  bool tied_by_default = false;  ///< an output head that equals the embedding is left out even if config.json is silent
  bool class_has_defaults = false;  ///< config.json leaves out whatever equals the class's defaults
  bool layers_may_differ = false;   ///< not every layer of a directory has the same modules
  /// The number that "@times:NAME" in a source stands for.
  double (*factor)(const hf::Config&, std::string_view name) = nullptr;
  double hf_rope_theta = 10000;           ///< what a config.json without rope_theta means to Hugging Face tools
  double mlx_rope_theta = hf_rope_theta;  ///< what it means to mlx-lm
  bool mlx_scales_rope = true;            ///< mlx-lm's class looks at rope_scaling
  /// What the family's rows have in common with others and its own loader treats otherwise (scripts/check-required runs
  /// llama.cpp to tell): keys that it insists on, and keys and tensors ("attn_q.bias") without which it loads a file,
  /// but then computes something else or aborts.
  std::string_view loader_needs = {};
  std::string_view loads_without = {};
  bool applies_weight_scales = false;  ///< llama.cpp multiplies by a tensor ".scale" next to every matrix of a layer
  std::array<std::span<const Key>, 6> keys = {};
  std::array<std::span<const Tensor>, 8> layer_tensors = {};
  std::span<const Tensor> first_tensors = embedding;     ///< before the layers
  std::span<const Tensor> last_tensors = norm_and_head;  ///< after them
  PredictionForm prediction = {};
  Few<LayoutSign, 3> layout_signs = {};  ///< none: only the metadata of the files tells
  /// Do the weights of the experts chosen for a token add up to one, or are scores independent of each other, whatever
  /// the keys say? Then an expert that was not chosen has no part in them.
  bool renormalises_experts = false;
  u64 unrotated_every = 0;             ///< of so many layers the last goes without rotation
  std::string_view layer_counts = {};  ///< "46": with so many layers llama.cpp computes something else
  std::span<const Mark> marks = {};
  Few<Fixed, 10> fixed = {};
  Few<Relation, 3> relations = {};
  Few<Check, 2> checks = {};
  ConfigForm config = {};
  CacheFacts cache = {};    ///< families that share a GGUF architecture share the facts, too
  EngineFacts engine = {};  ///< of dense models
  TokenizerFacts tokenizer = {};
};

/// All keys of a family, in the order in which they are written.
std::vector<const Key*> keys_of(const Family& family);

/// Is `name` one of "a|b|c"?
bool has_name(std::string_view names, std::string_view name);
/// "a" of "a|b|c".
inline std::string_view first_name(std::string_view names) {
  return names.substr(0, names.find('|'));
}

}  // namespace modelutils::arch

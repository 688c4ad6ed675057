// A model family as data: names, keys, tensors and limits. Each family is a file in lib/arch/families; the common code
// (names, values, plan, rules) interprets these rows. How to add one: docs/adding-an-architecture.md.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "arch/family_facts.h"
#include "arch/row_text.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "base/text.h"
#include "base/types.h"

namespace modelutils::arch {

// Which architectures C-Kernel-Engine computes, so that BUMPWGT5 can hold them, and what its manifest states about
// them. Each architecture has one value beside its rows (arch/families). Source: docs/formats/bump5.md.

struct EngineFacts {
  std::string_view rope_layout = {};  ///< "pairwise" or "split"; empty if the engine does not support the architecture
  bool has_qk_norms = false;
  bool has_post_norms = false;
  bool is_gemma = false;  ///< activations quantised to Q8_0, a sliding window in every layer, no position scaling
};

}  // namespace modelutils::arch

namespace modelutils::hf {
struct Config;
}

namespace modelutils::arch {

class ConfigWriter;
class KeyWriter;
struct Family;

// A short table stored inside the object that uses it, so that its values can be written in place.

/// Up to N values, from a list or an array. More than N constants do not compile.
template <typename T, std::size_t N>
class Few {
 public:
  constexpr Few() = default;
  consteval Few(std::initializer_list<T> values) {
    for (const T& value : values) add(value);
  }
  template <std::size_t M>
  consteval Few(const T (&values)[M]) {
    static_assert(M <= N);
    for (const T& value : values) add(value);
  }

  constexpr void add(const T& value) { values_.at(count_++) = value; }
  constexpr const T* begin() const { return values_.data(); }
  constexpr const T* end() const { return values_.data() + count_; }

 private:
  std::array<T, N> values_ = {};
  std::size_t count_ = 0;
};

/// The presence of a tensor or field: forbidden (absent), optional or required.
enum class Need : u8 { absent, optional, required };

/// The type of a GGUF key. Loaders refuse another width.
enum class KeyType : u8 {
  u32,
  u32_of_some,     ///< one number; a file may also have an array with that number in some layers and 0 in the others
  u32_or_layers,   ///< one number, or an array with one per layer
  u32_where_used,  ///< like u32_or_layers, but layers without one (0) need no array, because other rows identify them
  f32,
  f32_or_layers,
  flag,
  flag_layers,  ///< an array with one flag per layer
  flag_trunk,   ///< like flag_layers, but never including blocks that predict further tokens
  text,
  texts,     ///< an array of strings; the symbol is their number
  u32_list,  ///< an array; its length depends on the key
  f32_list,
};

/// How to treat a config.json without the field.
enum class Missing : u8 {
  leave_out,  ///< write no key
  assume,     ///< write the fallback
  note,       ///< write the fallback and add a note
  warn,       ///< write the fallback and warn
  refuse,     ///< refuse the conversion
};

/// A hyper-parameter: a field of config.json and a key of a GGUF.
struct Key {
  std::string_view name;  ///< without "<architecture>."
  KeyType type = KeyType::u32;
  std::string_view fields = {};    ///< fields of config.json; the first present wins: "num_attention_heads|n_head"
  std::string_view symbol = {};    ///< the size it states, solved from tensor shapes if they determine it
  std::string_view fallback = {};  ///< an expression (f32: a number) to use if config.json lacks the field
  Missing missing = Missing::leave_out;
  Need need = Need::optional;            ///< whether the loader requires it
  ConditionText when = {};               ///< written only if this holds
  std::string_view loader_default = {};  ///< an expression: the loader's value for a missing key
  /// Computes the size if config.json states it in another way ("partial_rotary_factor"). If it returns nullopt, fields
  /// and fallback apply.
  std::optional<u64> (*derive)(const hf::Config&, const Sizes&) = nullptr;
  /// The same for sizes that differ between layers: returns one value for each of the L layers, or an empty list if
  /// config.json does not state them. Takes precedence over fields, so a field may hold a list or a pattern.
  std::vector<u64> (*derive_layers)(const hf::Config&, const Sizes&) = nullptr;
  /// Writes this key and others of its group, if a field alone is not enough. Rows with neither fields nor a function
  /// are written by another row's function, and only declare the type.
  Status (*write)(KeyWriter&, const Key&) = nullptr;
  /// The inverse: writes the members of config.json that this key implies, if a field alone is not enough.
  Status (*read)(ConfigWriter&, const Key&) = nullptr;
};

/// A tensor of a GGUF and its source in a directory.
struct Tensor {
  /// Without "blk.N." and ".weight" (".bias"). After '@' the name is complete. "@#key" is a key instead of a tensor: an
  /// array with the source's single number for each layer.
  std::string_view name;
  ShapeText ne;  ///< symbolic shape, ne0 first: "E,H*D"
  /// Names in Hugging Face and MLX directories, without layer prefix and suffix (complete if the name is). The form is
  /// ALTERNATIVE | ALTERNATIVE …, each `[condition] PART + PART …`, with the rows of the parts in order, or `PART *
  /// PART` with the product of two vectors. A part is `module{view}@operation…`. A '#' in the module is an expert
  /// number; the experts' matrices are stacked. Views: row_view.h; operations: row_text.h. `module{{view}}` is a view
  /// of single elements, whose last axis on the left runs along the source's rows. It transposes, which turns quantised
  /// rows into F32. Views and operations of elements do not apply to biases. "=name" is a generated tensor (rope.h).
  SourceText source;
  Need need = Need::required;
  Need bias = Need::absent;  ///< bias of the same module; its shape is the weight's without ne0 (for vectors the same)
  ConditionText when = {};   ///< the layers that have it
  bool f32 = false;          ///< must be F32 despite having two dimensions or more (one dimension always is)
  /// Holds numbers of experts: I32 in a GGUF, I64 in a directory. Each must be less than X.
  bool is_of_experts = false;
  std::string_view plain = {};  ///< if not empty, quantised sources become F32, for this reason
  /// The source's shape in a directory, in safetensors order, if it differs from the rows: alternatives as in `source`,
  /// "[mlx] I,Kc,1 | I,1,Kc".
  StoredText stored = {};
};

/// The tensors before and after the layers in nearly every family.
inline constexpr std::array<Tensor, 1> embedding = {{{"token_embd", "E,V", "model.embed_tokens"}}};
inline constexpr std::array<Tensor, 2> norm_and_head = {{
    {"output_norm", "E", "model.norm"},
    {"output", "E,V", "lm_head"},
}};

/// How a family gets its output head.
enum class OutputHead : u8 {
  optional,  ///< without output.weight the embedding is the head
  never,     ///< the loader refuses output.weight; the embedding is always the head
  always,    ///< some loaders require output.weight, so a tied model gets a copy of the embedding
};

/// A symbol that is 1 in layers that have a tensor and 0 in others, for loaders that decide by that tensor what else a
/// layer has.
struct Mark {
  std::string_view symbol;
  std::string_view tensor;  ///< name of a layer row; with "NAME/H" the symbol is the number of rows per H instead of 1
  bool in_gguf_only = false;  ///< directories never have the tensor
};

/// A setting that is hard-coded in the runtime.
struct Fixed {
  std::string_view field;    ///< field of config.json
  std::string_view value;    ///< in JSON spelling: "true", "1", "silu"; several separated by '|'
  Severity severity;         ///< an error refuses the conversion
  std::string_view because;  ///< the runtime's fixed value
  ConditionText when = {};
};

/// How a tensor shows whether a directory has mlx-lm's layout or the published one.
enum class Telling : u8 {
  convolution,     ///< [n, k, 1] in mlx-lm's layout, [n, 1, k] as published
  tall_matrix,     ///< more rows than columns in mlx-lm's layout, transposed as published
  name_of_mlx,     ///< only mlx-lm uses the name
  published_name,  ///< mlx-lm changes the name when it saves the model
};

/// A layer's tensor that shows the layout. Used by families whose values depend on the layout (norms with one added,
/// multipliers applied, matrices transposed). mlx-lm checks the same tensors.
struct LayoutSign {
  std::string_view module;  ///< below the layer, without ".weight"
  Telling telling = Telling::convolution;
};

/// Two expressions that the runtime assumes to be equal.
struct Relation {
  ConditionText left, right;
  std::string_view field;    ///< field of config.json for error messages; empty if only a GGUF's keys can violate it
  std::string_view because;  ///< "every runtime of qwen2 takes hidden_size / heads"
};

/// A member of config.json that no GGUF key states.
struct Member {
  std::string_view field;
  std::string_view value;  ///< in JSON spelling; "=H*D" is an expression's value, "@attn_q.bias" is whether a layer has
                           ///< that tensor
  ConditionText when = {};
};

/// How to write a family's config.json when converting from GGUF, beyond its rows.
struct ConfigForm {
  std::string_view fields = {};  ///< for rows with several fields, those that the class uses: "n_embd|n_head"
  Few<Member, 9> members = {};
  Status (*describe)(ConfigWriter&) = nullptr;  ///< adds what rows cannot express
  std::string_view model_type = {};             ///< if it is not the first of the family's
  std::string_view text_model_type = {};        ///< of a multimodal class, whose members are in a text_config
  /// What replaces "model." in the tensor names of such a class, as mlx-lm saves them and as published. With
  /// "language_model.model.", the head is below language_model too; "A|B" is another prefix of the head.
  std::string_view mlx_text_prefix = "language_model.model.";
  std::string_view hf_text_prefix = "model.language_model.";
  bool only_mlx_names = false;  ///< mlx-lm's class does not read the published names, so plain directories use its own
};

/// Blocks after the layers that predict further tokens, for families that have them in directories and GGUFs
/// (prediction_rows.h). A block has the rows of a layer and some of its own.
struct PredictionForm {
  std::span<const Tensor> tensors = {};  ///< rows of a block only; if empty, such blocks are left out
  bool runs = false;                     ///< llama.cpp drafts with them; otherwise it loads and ignores them
  /// Sizes in a block that differ from the last layer's: "Fi=1|F=Fx".
  std::string_view sizes = {};
  /// Numbers for blocks in per-layer keys that differ from the last layer's: "KEY=1".
  std::string_view numbers = {};
  u64 parts = 1;  ///< number of directory layers ("mtp.layers.N") that form one block
};

/// A check that rows cannot express. Refuses by returning an error; warns through the writer.
using Check = Status (*)(KeyWriter&);

struct Family {
  std::string_view name;         ///< unique; listed in the page of architectures
  std::string_view gguf;         ///< general.architecture
  std::string_view classes;      ///< values of architectures[0] in config.json: "LlamaForCausalLM|MistralForCausalLM"
  std::string_view model_types;  ///< values of model_type in config.json
  std::string_view about = {};   ///< special properties, for the page of architectures
  /// A prefix of general.name that makes llama.cpp tokenize like the model's own tokenizer.
  std::string_view wanted_name = {};
  /// For families that share a class or model type: returns true if the config is of this family. The first family
  /// without a function or whose function returns true is used.
  bool (*fits)(const hf::Config&) = nullptr;
  /// Sets sizes of a directory that only config.json shows and no key states.
  void (*config_sizes)(const hf::Config&, Sizes&) = nullptr;
  /// For families that share a GGUF architecture: the first whose condition holds for the file's keys is used.
  ConditionText gguf_when = {};
  /// A pre-tokenizer unique to this family among those of its GGUF architecture. A file that names it belongs to this
  /// family.
  std::string_view gguf_pre = {};
  /// A key that only this family's files have, without the architecture ("rope.dimension_sections"); after '@' a
  /// tensor.
  std::string_view gguf_key = {};
  /// A tensor that this family's files lack and all other files of the architecture have ("token_types.weight"). The
  /// family comes before the others.
  std::string_view gguf_lacks = {};
  std::string_view layer_prefixes = "model.layers.";  ///< several separated by '|', mlx-lm's first
  std::string_view hf_layer_prefix = {};              ///< as published, if that is not the first
  /// Prefixes that any tensor name of a directory may have besides those in the rows: "bert.|model.". Families whose
  /// layers begin with "model." also take names without it.
  std::string_view outer_prefixes = {};
  /// Beginnings of names that llama.cpp has no use for, unless a row uses them: "cls.predictions.|lm_head.". After '*'
  /// anywhere in the name.
  std::string_view left_out = {};
  /// Parts of names of tensors that the model uses, but a GGUF cannot hold. Left out with a warning unless all values
  /// are 0.
  std::string_view lost_unless_zero = {};
  /// Parts of module names that mlx-lm spells in another way, as "published=mlx|…", applied in order: with "moe.=mlp."
  /// the source "moe.gate" means "[hf] moe.gate | mlp.gate | moe.gate". Applies to alternatives without a condition.
  std::string_view renames = {};
  std::string_view activation = "silu";              ///< the activation hard-coded in the runtime, in config.json's
                                                     ///< spelling
  std::string_view activation_names = "silu|swish";  ///< all spellings of it
  OutputHead head = OutputHead::optional;
  u64 pooling = 0;                  ///< pooling_type of directories without modules.json; 0: no key
  bool tied_by_default = false;     ///< leave out an output head equal to the embedding even if config.json is silent
  bool class_has_defaults = false;  ///< config.json omits values that equal the class's defaults
  bool layers_may_differ = false;   ///< layers of a directory may have different modules
  /// Returns the number that "@times:NAME" in a source stands for.
  double (*factor)(const hf::Config&, std::string_view name) = nullptr;
  double hf_rope_theta = 10000;           ///< Hugging Face's default for rope_theta
  double mlx_rope_theta = hf_rope_theta;  ///< mlx-lm's default for rope_theta
  bool mlx_scales_rope = true;            ///< mlx-lm's class reads rope_scaling
  /// Exceptions of the family's loader to rows shared with other families: keys that it requires, and keys and tensors
  /// ("attn_q.bias") without which it loads a file but then computes something else or aborts. scripts/check-required
  /// finds them by running llama.cpp.
  std::string_view loader_needs = {};
  std::string_view loads_without = {};
  bool applies_weight_scales = false;  ///< llama.cpp applies a ".scale" tensor beside every matrix of a layer
  Few<std::span<const Key>, 6> keys = {};
  Few<std::span<const Tensor>, 8> layer_tensors = {};
  std::span<const Tensor> first_tensors = embedding;     ///< before the layers
  std::span<const Tensor> last_tensors = norm_and_head;  ///< after the layers
  PredictionForm prediction = {};
  Few<LayoutSign, 3> layout_signs = {};  ///< if empty, only the files' metadata show the layout
  /// True if, regardless of the keys, the weights of the selected experts are normalised or the scores are independent
  /// of each other. Experts that were not selected then do not affect them.
  bool renormalises_experts = false;
  u64 unrotated_every = 0;             ///< if not 0, the last of each such number of layers is not rotated
  std::string_view layer_counts = {};  ///< layer counts ("46") for which llama.cpp computes something else
  std::span<const Mark> marks = {};
  Few<Fixed, 10> fixed = {};
  Few<Relation, 3> relations = {};
  Few<Check, 2> checks = {};
  ConfigForm config = {};
  CacheFacts cache = {};    ///< identical in all families that share a GGUF architecture
  EngineFacts engine = {};  ///< for dense models
  TokenizerFacts tokenizer = {};
};

/// Returns all keys of a family in output order.
std::vector<const Key*> keys_of(const Family& family);

/// True if `name` is one of "a|b|c".
bool has_name(std::string_view names, std::string_view name);
/// Returns the part before the first '|': "a" for "a|b".
inline std::string_view first_name(std::string_view names) {
  return names.substr(0, names.find('|'));
}

}  // namespace modelutils::arch

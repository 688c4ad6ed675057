// The summary of a model in two dozen numbers, for any format: of a GGUF from its keys and tensors, of a directory
// from its config.json, of an adapter from its pairs; and of GGUF files that accompany a model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "formats/gguf/split_set.h"
#include "formats/hf/config.h"
#include "formats/imatrix/importance.h"
#include "model/listing/image_facts.h"
#include "model/memory/exact_sizes.h"
#include "model/safetensors_model.h"
#include "template/render.h"
#include "tensor/types.h"

namespace modelutils {

// Facts about an adapter in any form: its pairs, their ranks and scales.

/// A tensor or module of the base that an adapter changes.
struct AdapterTarget {
  std::string name;  ///< raw text: the base's tensor name in a GGUF, otherwise the module name in the training library
  u64 rank = 0;
  double scale = 1;                       ///< factor of the product; includes alpha, rank, rslora and patterns
  u64 columns = 0, rows = 0, slices = 1;  ///< of the adapted matrix
};

struct AdapterFacts {
  std::string_view form;        ///< "gguf", "peft", "mlx"
  std::optional<double> alpha;  ///< as stated; set if the file has a single number
  std::vector<AdapterTarget> targets;
  u64 others = 0;  ///< tensors outside pairs: magnitudes, whole tensors
};

/// Returns nullopt if the file is not a LoRA adapter.
std::optional<AdapterFacts> adapter_facts(const gguf::SplitSet& set);
/// Returns nullopt if the directory is not a readable LoRA adapter.
std::optional<AdapterFacts> adapter_facts(const SafetensorsModel& model);

/// Returns facts of a few words each: "LoRA adapter", "rank 8", "alpha 16", "scale 2", "2 matrices".
std::vector<std::string> adapter_words(const AdapterFacts& facts);

/// A range, because head counts may differ between layers (an array).
struct Range {
  u64 low = 0;
  u64 high = 0;
};

/// A vision or audio tower: how pictures or sounds become its input, and its size.
struct TowerFacts {
  std::string_view encoder;                   ///< "vision", "audio"
  std::string type;                           ///< of the projector, as the runtime names it; empty if not stated
  std::optional<u64> image_size, patch_size;  ///< sides in pixels; an image_size of 0 stands for any
  std::optional<Range> tokens;                ///< of a picture
  std::vector<double> mean, deviation;        ///< of the colours
  std::optional<Range> pixels, tiles;         ///< of a picture
  std::optional<u64> mel_bins, layers;
  std::optional<u64> width;  ///< of an embedding for the text model
  u64 parts = 1;             ///< embeddings for each token
};

/// Returns the towers of a projector file; empty for other files. Reads the colours.
std::vector<TowerFacts> tower_facts(const gguf::SplitSet& set);
/// Returns facts of a few words each, without encoder and type: "images of 224", "256 tokens per picture".
std::vector<std::string> tower_words(const TowerFacts& tower);

/// All tensors of one type.
struct TypeTotal {
  std::string name;                ///< "Q4_K"; for an unknown type its number
  std::optional<TensorType> type;  ///< nullopt for an unknown type
  u64 tensors = 0;
  std::optional<u64> bytes;  ///< without padding; nullopt if a size is unknown
  std::optional<u64> parameters;
};

/// A type that only forks of ggml know (formats/gguf/foreign_types.h).
struct ForeignTypeFacts {
  struct InFork {
    std::string_view name;        ///< "IQ4_KS"
    std::string_view program;     ///< "ik_llama.cpp"
    std::string_view repository;  ///< "ikawrakow/ik_llama.cpp"
  };
  u64 id = 0;
  std::string text;              ///< "IQ4_KS (ik_llama.cpp)"
  std::vector<InFork> forks;     ///< all that fit the file
  double bits_per_weight = 0;    ///< of the blocks
  std::string_view advice = {};  ///< what the owner of the file can do
};

/// A size of a recurrent layer.
struct NamedNumber {
  std::string_view name;  ///< "state", "convolution"
  u64 number = 0;
};

/// A token to which a key assigns a role.
struct NamedToken {
  std::string_view role;  ///< "eos"
  std::string_view key;   ///< "tokenizer.ggml.eos_token_id"
  u64 id = 0;
  std::string text;  ///< raw text of the file
};

/// A chat template.
struct NamedTemplate {
  std::string_view name;  ///< raw text of the file; empty for the default template
  u64 bytes = 0;
};

/// Texts are raw text of the file. Facts that the model does not state are empty.
struct ModelFacts {
  std::string architecture;  ///< general.architecture; for a config.json architectures[0], otherwise model_type; for an
                             ///< image model without either, the one that its tensors show
  std::string name;
  std::vector<std::string> companion;   ///< the kind of a file that accompanies a model; empty for models
  std::optional<AdapterFacts> adapter;  ///< set for LoRA adapters
  std::vector<TowerFacts> towers;       ///< of a projector file or a directory
  std::optional<ImageFacts> image;      ///< set for image and video models
  std::vector<ForeignTypeFacts> foreign_types;
  std::string mix;        ///< name of general.file_type, e.g. "Q4_K_M"; empty if not stated
  std::string tokenizer;  ///< tokenizer.ggml.model
  std::string tokenizer_pre;
  std::vector<NamedToken> tokens;  ///< set if ListingRequest::token_texts
  std::vector<NamedToken> stops;  ///< tokens at which generation ends, by id; set like `tokens`, without roles and keys
  std::optional<u64> layers, context, embedding, head_dim, vocabulary, experts, experts_used;
  std::optional<Range> feed_forward, heads, heads_kv;
  std::optional<memory::CacheSummary> cache;      ///< nullopt if the architecture's cache layout is unknown
  std::optional<u64> query_rank, key_value_rank;  ///< of latent attention (MLA)
  std::vector<NamedNumber> recurrent;             ///< sizes of recurrent states and short convolutions
  std::string rope_scaling;                       ///< "yarn", "linear" …
  std::optional<double> rope_factor;
  std::optional<u64> rope_original_context;
  std::optional<u64> pooling;       ///< pooling_type: how vectors of tokens become one
  bool sees_whole_text = false;     ///< attention in both directions
  std::optional<u64> output_width;  ///< of embeddings, if it is not the model's
  std::vector<std::string> labels;  ///< of a classifier

  std::vector<NamedTemplate> templates;              ///< views into the opened model
  std::optional<jinja::Capabilities> chat_template;  ///< nullopt if there is no template or it does not parse

  u64 tensors = 0;
  std::optional<u64> parameters;          ///< elements of all tensors; nullopt on overflow
  std::optional<u64> active_parameters;   ///< counts only the experts that a token uses; nullopt without experts
  std::optional<u64> tensor_bytes;        ///< nullopt if a size is unknown
  std::optional<double> bits_per_weight;  ///< 8 × tensor_bytes / parameters
  std::vector<TypeTotal> types;           ///< in the order of their first tensors
  std::optional<u64> file_size;           ///< total over all files; nullopt for a pipe
};

// Describes GGUF files that accompany a model: adapters, importance matrices, projectors.

/// Returns facts of a few words each: "LoRA adapter", "rank 8", "alpha 16", "2 matrices". Empty for a model. The keys
/// are those written by llama.cpp's llama-imatrix, convert_lora_to_gguf.py and convert_hf_to_gguf.py --mmproj. Reads no
/// tensor data; of an importance matrix, the names of its calibration texts.
std::vector<std::string> companion_facts(const gguf::SplitSet& set);

/// Like companion_facts(), for an importance matrix in the format before GGUF.
std::vector<std::string> legacy_imatrix_facts(const quantize::ImportanceMatrix& matrix);

// A summary of a model: of a GGUF from its keys and tensors, of a directory from its config.json.

/// Returns hyper-parameters, cache size, name, tokenizer and mix, all from the keys. Reads only arrays with one number
/// per layer.
ModelFacts summarize_keys(const gguf::SplitSet& set);
/// Returns the summary of a directory, under Hugging Face's name for the architecture.
ModelFacts summary_of(const hf::Config& config);
/// Returns summarize_keys() with totals over the tensors.
ModelFacts summarize(const gguf::SplitSet& set);

/// Returns the chat templates, both the default one and the named ones.
std::vector<NamedTemplate> named_templates(const gguf::SplitSet& set);
/// Returns the capabilities of the chat template, found by rendering it; nullopt if there is none or it does not parse.
std::optional<jinja::Capabilities> template_capabilities(const gguf::SplitSet& set);

}  // namespace modelutils

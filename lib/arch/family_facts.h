// Facts that neither a model's files nor its keys state, because its family determines them: about its tokenizer, and
// about the memory that llama.cpp keeps per sequence. Each architecture has its values beside its rows (arch/families).
// Pre-tokenizers have the names used in tokenizer.ggml.pre; the source of the other facts is docs/memory.md.
#pragma once

#include <string_view>

#include "base/types.h"

namespace modelutils::arch {

// Facts about a family's tokenizer that its files do not state. Each value is beside the family's rows (arch/families).
// Pre-tokenizers have the names used in tokenizer.ggml.pre.

struct TokenizerFacts {
  /// The family's pre-tokenizer among several that split text alike.
  std::string_view pre = {};
  /// The pre-tokenizers of model types for which no tokenizer.json states it, as "qwen2=qwen2|qwen3=qwen2". One list is
  /// for models with vocab.json and merges.txt; the other for models with tiktoken ranks, whose regexes are in Python
  /// code.
  std::string_view pre_of_merges = {};
  std::string_view pre_of_ranks = {};
  /// True if no space is added before a text, whatever the files state.
  bool never_prefixes_space = false;
  /// True if tokens for infilling and for the end of a turn are recognised by their texts ("<|fim_prefix|>", …).
  bool infills_by_text = false;
  /// True if a turn ends where the user's begins (<|user|>), and <|endoftext|> also stands for unknown text.
  bool user_ends_turn = false;
  /// A vocabulary of this size has tokens for infilling from id 32007 on, without any sign in the files. 0: no size
  /// has.
  u64 infill_vocabulary = 0;
  /// A vocabulary of this size adds no token before a text, whatever the files state. 0: no size has this exception.
  u64 vocabulary_without_bos = 0;
  /// True if the vocabulary expects composed characters (NFC), which no GGUF key states; used when converting from
  /// GGUF. Does not apply with the pre-tokenizer `composes_not`. Families that share a GGUF architecture have the same
  /// values.
  bool composes = false;
  std::string_view composes_not = {};
};

/// Returns the facts of the family of a config.json's class or model type, or default facts if there is none.
const TokenizerFacts& tokenizer_facts(std::string_view hf_class, std::string_view model_type);
/// Returns the facts of a GGUF architecture's first family.
const TokenizerFacts& tokenizer_facts(std::string_view gguf_architecture);

/// Returns the pre-tokenizer for a model type from any family's `pre_of_merges` or `pre_of_ranks`; empty if there is
/// none.
std::string_view pre_of_model_type(std::string_view TokenizerFacts::*list, std::string_view model_type);

// Facts about the memory that llama.cpp keeps per sequence and that are hard-coded for an architecture instead of
// stated by keys: which layers use a sliding window, which keep a state, which have no cache. Each architecture has one
// value beside its rows (arch/families). lib/model/memory applies them; their source is docs/memory.md.

/// Which layers only see a window of recent tokens, and its width (`attention.sliding_window`).
struct Windows {
  enum class Rule : u8 {
    none,            ///< llama.cpp ignores the window
    period,          ///< fixed period; a number in attention.sliding_window_pattern replaces it, an array is ignored
    number_or_list,  ///< attention.sliding_window_pattern is a period or flags; required unless `period` is set
    list,            ///< attention.sliding_window_pattern is required: flags per layer, or one for all
    attention,       ///< every layer with keys and values
    all,             ///< every layer
  };
  Rule rule = Rule::none;
  u64 period = 0;             ///< one layer in each period sees everything: the last,
  bool global_first = false;  ///< or the first if this is set
  bool always = false;        ///< layers use a window whatever its width; otherwise a width of 0 disables windows
  u64 missing = 0;            ///< window if the key is absent; 0: no windows, or (`always`) the key is required
  u64 fixed = 0;              ///< if not 0, the window regardless of the key
  bool is_required = false;   ///< llama.cpp aborts if the key is absent or 0
  u64 only_with_layers = 0;   ///< if not 0, models with another number of layers use no windows
  bool in_prediction_blocks = false;  ///< the period continues through the blocks that predict further tokens
};

/// Layers that keep a state of constant size instead of, or beside, keys and values.
struct Recurrence {
  enum class Layers : u8 {
    none,
    all,
    without_kv_heads,                   ///< layers whose attention.head_count_kv is 0
    without_kv_heads_and_feed_forward,  ///< and whose feed_forward_length is 0 (feed-forward layers keep no state)
    listed,  ///< attention.recurrent_layers; without it, all but one in each full_attention_interval
  };
  enum class State : u8 {
    none,
    convolution,            ///< ssm.*: a convolution over inner_size and the groups' states
    ungrouped_convolution,  ///< the same without ssm.group_count
    token_shift,            ///< wkv.head_size
    short_convolution,      ///< shortconv.l_cache
    delta,                  ///< kda.head_dim
    linear_attention,       ///< a square of attention.key_length per head
  };
  Layers layers = Layers::none;
  State state = State::none;
  u64 interval = 0;            ///< for Layers::listed: full_attention_interval if the key is absent
  bool keeps_keys = false;     ///< recurrent layers also have keys and values
  bool keeps_history = false;  ///< supports snapshots of the state
};

/// How llama.cpp treats the last `nextn_predict_layers` blocks, which predict further tokens.
enum class PredictionBlocks : u8 {
  unknown,   ///< does not read the key; they are ordinary layers
  cached,    ///< not loaded, but they have a cache
  uncached,  ///< not loaded, without a cache
  loaded,    ///< loaded, without a cache
};

/// A second cache for choosing the tokens that attention looks at (`attention.indexer.key_length`).
enum class Indexer : u8 {
  none,
  every_layer,
  with_keys,     ///< in layers that cache keys
  listed,        ///< attention.indexer.types
  behind_dense,  ///< from layer leading_dense_block_count on; with values
  compressed,    ///< attention.compress_ratios: several tokens become one; with F32 state
};

struct CacheFacts {
  bool has_cache = true;   ///< false if the whole text is computed at once
  bool is_latent = false;  ///< if key_length_mla and value_length_mla are present, only keys are cached
  Windows windows = {};
  Recurrence recurrence = {};
  PredictionBlocks prediction = PredictionBlocks::unknown;
  /// llama.cpp also loads files without the last `nextn_predict_layers` blocks.
  bool may_lack_prediction = false;
  Indexer indexer = Indexer::none;
  u64 cached_layers = 0;            ///< if not 0, only this many of the first blocks have their own keys and values
  bool shares_last_layers = false;  ///< the last attention.shared_kv_layers blocks have no keys and values of their own
  bool has_loops = false;           ///< the blocks run num_loops times, each time with their own keys and values
  bool has_router_layer = false;    ///< one more layer with a single head follows the blocks

  // Used to estimate compute buffers.
  bool has_gated_queries = false;        ///< queries are twice as wide
  u64 layer_input_width = 0;             ///< if not 0, every layer has its own input of this many elements
  bool layer_input_has_key = false;      ///< every layer has its own input of embedding_length_per_layer_input elements
  bool has_alternating_updates = false;  ///< several copies of the residual stream, of which one is computed
  bool has_encoder = false;              ///< encoder and decoder; the estimate does not apply
};

/// Returns the facts of an architecture (general.architecture), or nullptr if it is unknown.
const CacheFacts* find_cache_facts(std::string_view architecture);

/// True if the tensor (a name outside the blocks, without ".weight") comes after the layers, according to the rows of
/// the architecture's family.
bool is_behind_layers(std::string_view architecture, std::string_view tensor);

}  // namespace modelutils::arch

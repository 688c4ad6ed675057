// What llama.cpp keeps in memory for a sequence, as far as it is wired into the runtime of an architecture and not said
// by the keys of a file: which layers slide, which keep a state, which have no cache. One value for each architecture,
// next to its rows (arch/families); the rules that read it are in room memory, their source is docs/memory.md.
#pragma once

#include <string_view>

#include "base/types.h"

namespace modelutils::arch {

/// Which layers see only a window of the last tokens, and how wide it is (`attention.sliding_window`).
struct Windows {
  enum class Rule : u8 {
    none,            ///< the runtime ignores the window
    period,          ///< a number in attention.sliding_window_pattern replaces the period, an array is ignored
    number_or_list,  ///< attention.sliding_window_pattern is a period or flags; needed unless `period` stands for it
    list,            ///< it is needed: a flag for each layer, or one for all
    attention,       ///< every layer that has keys and values
    all,             ///< every layer
  };
  Rule rule = Rule::none;
  u64 period = 0;             ///< one layer of so many sees everything: the last of them, or
  bool global_first = false;  ///< the first
  bool always = false;        ///< the layers slide whatever the window is; else a window of 0 means that none does
  u64 missing = 0;  ///< the window of a file without the key; 0: without it none slides, or (`always`) no model
  u64 fixed = 0;    ///< the window where there is one, whatever the key says
  u64 only_with_layers = 0;           ///< none slides in models with another number of layers
  bool in_prediction_blocks = false;  ///< the period runs on through the blocks that predict further tokens
};

/// Layers that keep a state of constant size instead of (or next to) keys and values.
struct Recurrence {
  enum class Layers : u8 {
    none,
    all,
    without_kv_heads,                   ///< attention.head_count_kv is 0 there
    without_kv_heads_and_feed_forward,  ///< and feed_forward_length too; layers with a feed-forward part keep nothing
    listed,  ///< attention.recurrent_layers; without it all but one of full_attention_interval
  };
  enum class State : u8 {
    none,
    convolution,            ///< ssm.*: inner_size and the groups' states run through a convolution
    ungrouped_convolution,  ///< the same; ssm.group_count is not read
    token_shift,            ///< wkv.head_size
    short_convolution,      ///< shortconv.l_cache
    delta,                  ///< kda.head_dim
    linear_attention,       ///< a square of attention.key_length for each head
  };
  Layers layers = Layers::none;
  State state = State::none;
  u64 interval = 0;            ///< Layers::listed: full_attention_interval of a file without the key
  bool keeps_keys = false;     ///< recurrent layers have keys and values, too
  bool keeps_history = false;  ///< snapshots of the state can be asked for
};

/// What becomes of the last `nextn_predict_layers` blocks, which predict further tokens.
enum class PredictionBlocks : u8 {
  unknown,   ///< the key is not read: they are layers like others
  cached,    ///< not loaded, yet they have a cache
  uncached,  ///< neither
  loaded,    ///< loaded, without a cache
};

/// A second cache that chooses which tokens attention looks at (`attention.indexer.key_length`).
enum class Indexer : u8 {
  none,
  every_layer,
  with_keys,     ///< layers that keep keys
  listed,        ///< attention.indexer.types
  behind_dense,  ///< from layer leading_dense_block_count on; with values
  compressed,    ///< attention.compress_ratios: several tokens become one; with f32 state
};

struct CacheFacts {
  bool has_cache = true;   ///< false: the whole text is computed at once
  bool is_latent = false;  ///< with key_length_mla and value_length_mla only keys are kept
  Windows windows = {};
  Recurrence recurrence = {};
  PredictionBlocks prediction = PredictionBlocks::unknown;
  /// The loader also takes a file whose last `nextn_predict_layers` blocks are not there.
  bool may_lack_prediction = false;
  Indexer indexer = Indexer::none;
  u64 cached_layers = 0;            ///< only so many of the first blocks have keys and values of their own; 0: all
  bool shares_last_layers = false;  ///< attention.shared_kv_layers of the last blocks have none
  bool has_loops = false;           ///< the blocks run num_loops times, each time with keys and values of their own
  bool has_router_layer = false;    ///< behind the blocks is one more layer with one head

  // For the estimate of compute buffers.
  bool has_gated_queries = false;        ///< queries are twice as wide
  u64 layer_input_width = 0;             ///< inputs of every layer of their own, so many elements wide
  bool layer_input_has_key = false;      ///< the same, embedding_length_per_layer_input wide
  bool has_alternating_updates = false;  ///< several copies of the residual stream, one of them computed
  bool has_encoder = false;              ///< encoder and decoder: the estimate does not hold
};

/// The facts of an architecture (general.architecture); nullptr for one that is not known.
const CacheFacts* find_cache_facts(std::string_view architecture);

/// Is the block-less tensor (a name without ".weight") part of what follows the layers, by the rows of the
/// architecture's family?
bool is_behind_layers(std::string_view architecture, std::string_view tensor);

}  // namespace modelutils::arch

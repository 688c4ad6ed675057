// What a BUMPWGT file takes from a GGUF's keys: hyper-parameters, and the tokenizer's arrays as five entries of
// BUMPWGT5. All reasons against a conversion are collected, with one line for 80 layers. Source: docs/formats/bump.md,
// "What is refused", and docs/formats/bump5.md, "Entries".
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arch/facts.h"
#include "base/error.h"
#include "formats/bump/document.h"
#include "formats/gguf/document.h"
#include "formats/gguf/split_set.h"

namespace modelutils {

// Collects all reasons against a conversion, so that the user sees the complete list, with one line for 80 layers.

/// Errors of kind input about tensors and keys. Errors that differ only in the block number are merged.
class Refusals {
 public:
  /// `subject` is the tensor's or key's raw name, `kind` is "tensor" or "key"; both are empty for the whole file.
  /// Refusals with the same code are merged if their subjects differ only in the block number, or if they have the same
  /// non-empty `group`.
  void add(std::string code, std::string_view kind, std::string_view subject, std::string message,
           std::string group = {});

  bool empty() const { return errors_.empty(); }
  /// In the order in which they were first added; merged ones state how many more there are.
  std::vector<Error> errors() const;

 private:
  std::vector<Error> errors_;
  std::vector<std::string> likes_;
  std::vector<u64> counts_;
  std::map<std::pair<std::string, std::string>, std::size_t> known_;
};

/// "blk.7.attn_q.weight" -> "blk.*.attn_q.weight", a glob for all layers; other names are unchanged.
std::string layer_pattern(std::string_view tensor);

// The hyper-parameters for a BUMPWGT file and its config.json. Source: docs/formats/bump.md, "What is refused".

/// The user's choices for the output file.
struct BumpRequest {
  u32 version = 3;             ///< 3 or 5: BUMPWGT3 or BUMPWGT5
  std::optional<u64> context;  ///< replaces the model's context_length
  /// BUMPWGT3: store the halves of each head of Q and K (llama architecture) one after the other instead of in pairs,
  /// and F32 wo head by head. The one runtime path that still reads the format expects this.
  bool split_halves = false;
  u64 align_head = 1;                        ///< head_dim is rounded up to a multiple of this
  std::optional<bump::Numbering> numbering;  ///< of BUMPWGT3, by default the original one; BUMPWGT5 has only one
  std::vector<std::string> drop;             ///< glob patterns of unplaced tensors whose loss is accepted

  bump::Numbering codes() const {
    return numbering.value_or(version == 3 ? bump::Numbering::original : bump::Numbering::renumbered);
  }
};

struct BumpHyperParameters {
  arch::Facts stated;           ///< values of the model's keys
  bump::Dimensions dimensions;  ///< vocab is 0 here; it is the row count of token_embd.weight
  std::optional<float> rms_eps;
  float rope_theta = 10000;
  u64 rope_dimensions = 0;  ///< rotated elements per head (rope.dimension_count, default head_dim)
};

/// Adds a refusal for each key that is missing, of a wrong type, different between layers or too large for the header
/// ("gguf2bump-architecture", "gguf2bump-key", "gguf2bump-per-layer"), and then returns nullopt.
std::optional<BumpHyperParameters> read_bump_hyper_parameters(arch::Facts stated, const BumpRequest& request,
                                                              Refusals& refusals);

/// Rope scaling from a GGUF model's keys. The llama3 form has no keys: it is a tensor.
struct RopeScalingKeys {
  std::string type;              ///< as in the file; empty for none, and for linear scaling by 1
  std::optional<double> factor;  ///< rope.scaling.factor; in some old files rope.scale_linear
};

RopeScalingKeys rope_scaling_keys(const arch::Facts& stated);

// The tokenizer in a BUMPWGT5 file: GGUF's arrays as five entries. Source: docs/formats/bump5.md, "Entries".

/// The contents of the entries.
struct Bump5Vocabulary {
  std::string offsets;        ///< i32 per token: its offset in `strings`
  std::string strings;        ///< NUL-terminated, ordered by id
  std::string scores;         ///< f32 per token
  std::string types;          ///< u8 per token
  std::string merges;         ///< three i32 per merge: left, right, left + right
  u64 left_out = 0;           ///< merges omitted because a part is not a token
  u64 with_nul = 0;           ///< tokens that contain a NUL, where the engine would truncate them
  bool is_unigram = false;    ///< the engine searches for the most likely split
  bool has_charsmap = false;  ///< there is a character map, which the engine does not support
};

/// Returns the engine's name for a GGUF tokenizer (tokenizer.ggml.model); nullopt if the engine does not support it.
std::optional<std::string_view> bump5_tokenizer_type(std::string_view model);

/// Reads tokens, scores, types and merges of a model whose embedding has `rows` rows. Ids without a token become
/// "<|pad_ID|>". Returns null if the model has no tokens, or after adding refusals ("gguf2bump-vocabulary": a tokenizer
/// that the engine does not support, strings of more than 2 GiB, a token type above 255, arrays of a wrong type).
/// Errors: read errors.
Result<std::shared_ptr<Bump5Vocabulary>> read_bump5_vocabulary(const gguf::SplitSet& set, const gguf::Index& index,
                                                               u64 rows, Refusals& refusals);

}  // namespace modelutils

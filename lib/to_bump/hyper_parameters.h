// The hyper-parameters that a BUMPWGT file and its config.json need, read from a GGUF model's keys.
// Source: docs/formats/bump.md, "What is refused".
#pragma once

#include <optional>
#include <string>

#include "bump/layout.h"
#include "gguf/keys.h"
#include "gguf/split_set.h"
#include "to_bump/refusals.h"

namespace modelutils {

/// What the user may choose about the file to be.
struct BumpRequest {
  u32 version = 3;             ///< 3 or 5: BUMPWGT3 or BUMPWGT5
  std::optional<u64> context;  ///< instead of the model's context_length
  /// BUMPWGT3: Q and K of the llama architecture with the halves of each head one behind the other instead of in pairs,
  /// and F32 wo head by head, as the one code path that still reads the format expects them.
  bool split_halves = false;
  u64 align_head = 1;                        ///< head_dim is rounded up to a multiple of this many elements
  std::optional<bump::Numbering> numbering;  ///< of BUMPWGT3, by default the original one; BUMPWGT5 has one
  std::vector<std::string> drop;             ///< globs: tensors without a place whose loss is accepted

  bump::Numbering codes() const {
    return numbering.value_or(version == 3 ? bump::Numbering::original : bump::Numbering::renumbered);
  }
};

struct BumpHyperParameters {
  std::string architecture;     ///< general.architecture
  bump::Dimensions dimensions;  ///< vocab is 0 here: it is the number of rows of token_embd.weight
  std::optional<float> rms_eps;
  float rope_theta = 10000;
  u64 rope_dimensions = 0;  ///< rotated elements of a head (rope.dimension_count, default head_dim)
};

/// Reads the keys. What is missing, of a wrong type, different from layer to layer or beyond the header's fields goes
/// to `refusals` ("gguf2bump-architecture", "gguf2bump-key", "gguf2bump-per-layer"); then nothing is returned. Errors:
/// reading.
Result<std::optional<BumpHyperParameters>> read_bump_hyper_parameters(const gguf::SplitSet& set,
                                                                      const gguf::Index& index,
                                                                      const BumpRequest& request, Refusals& refusals);

/// Rope scaling as a GGUF model's keys say it (the llama3 form has none: it is a tensor).
struct RopeScalingKeys {
  std::string type;              ///< as in the file; empty for none, and for linear by 1
  std::optional<double> factor;  ///< rope.scaling.factor, in some old files rope.scale_linear
};

RopeScalingKeys rope_scaling_keys(const gguf::Index& index);

}  // namespace modelutils

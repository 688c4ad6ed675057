// The hyper-parameters for a BUMPWGT file and its config.json. Source: docs/formats/bump.md, "What is refused".
#pragma once

#include <optional>
#include <string>

#include "arch/facts.h"
#include "bump/layout.h"
#include "to_bump/refusals.h"

namespace modelutils {

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

}  // namespace modelutils

// Tensors of a source that the output omits, with the reason.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/finding_log.h"
#include "base/types.h"

namespace modelutils {

enum class LeftOutReason : u8 {
  other_part,         ///< vision or audio, which llama.cpp reads from a separate file (mmproj)
  prediction,         ///< layers that predict further tokens
  computed,           ///< inv_freq, causal masks: the runtime computes them
  activation_scales,  ///< limits for rounding activations, which the runtime may ignore
  tied_copy,          ///< a head that copies the embedding
  loader_copy,        ///< a copy that only llama.cpp's loader requires
  in_config,          ///< config.json has the same information
  zero_bias,          ///< a bias of zeros, which GPTQ's writers add to every module
  beside_weights,     ///< not a weight of the model: an optimizer's state
};

/// Returns the reason for reports: "is computed at run time".
std::string_view reason_text(LeftOutReason reason);

struct LeftOut {
  std::string name;  ///< name in the source, not escaped
  LeftOutReason reason = LeftOutReason::computed;
};

/// Returns "NAME (reason)", not escaped.
std::string left_out_text(const LeftOut& tensor);

/// Adds a warning "convert-left-out" for each reason that loses weights. Copies and values that are stated or computed
/// elsewhere are not losses.
void warn_of_losses(const std::vector<LeftOut>& tensors, FindingLog& findings);

}  // namespace modelutils

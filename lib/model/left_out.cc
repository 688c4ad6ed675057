#include "model/left_out.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/counted.h"
#include "base/place.h"

namespace modelutils {

std::string_view reason_text(LeftOutReason reason) {
  switch (reason) {
    case LeftOutReason::other_part:
      return "part of a vision or audio model, which llama.cpp reads from a file of its own";
    case LeftOutReason::prediction: return "part of multi-token prediction (MTP)";
    case LeftOutReason::computed: return "computed at run time";
    case LeftOutReason::activation_scales: return "scales activations, which the output does not quantise";
    case LeftOutReason::tied_copy: return "a copy of the embedding: the model is tied";
    case LeftOutReason::loader_copy: return "a copy that only llama.cpp's loader needs";
    case LeftOutReason::zero_bias: return "all zero, so it adds nothing";
    case LeftOutReason::beside_weights: return "stored next to the weights";
    case LeftOutReason::in_config: break;
  }
  return "its factors are in config.json";
}

std::string left_out_text(const LeftOut& tensor) {
  return fmt::format("{} ({})", tensor.name, reason_text(tensor.reason));
}

void warn_of_losses(const std::vector<LeftOut>& tensors, FindingLog& findings) {
  for (const LeftOutReason reason : {LeftOutReason::other_part, LeftOutReason::prediction}) {
    const auto is_one = [&](const LeftOut& tensor) { return tensor.reason == reason; };
    const auto first = std::ranges::find_if(tensors, is_one);
    if (first == tensors.end()) continue;
    const auto count = static_cast<u64>(std::count_if(first, tensors.end(), is_one));
    findings.warning(
        Scope::model, "convert-left-out",
        fmt::format("{} of the model {} not in the output: {}", counted(count, "tensor"), verb(count, "is", "are"),
                    reason == LeftOutReason::prediction
                        ? "multi-token prediction (MTP) layers"
                        : "parts for vision or audio, which llama.cpp reads from a file of its own (mmproj)"),
        at_tensor(first->name));
  }
}

}  // namespace modelutils

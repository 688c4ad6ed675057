// Which architectures C-Kernel-Engine computes, so that BUMPWGT5 can hold them, and what its manifest states about
// them. Each architecture has one value beside its rows (arch/families). Source: docs/formats/bump5.md.
#pragma once

#include <string_view>

namespace modelutils::arch {

struct EngineFacts {
  std::string_view rope_layout = {};  ///< "pairwise" or "split"; empty if the engine does not support the architecture
  bool has_qk_norms = false;
  bool has_post_norms = false;
  bool is_gemma = false;  ///< activations quantised to Q8_0, a sliding window in every layer, no position scaling
};

}  // namespace modelutils::arch

// What C-Kernel-Engine makes of an architecture: which of them BUMPWGT5 can carry, and what its manifest says of them.
// One value for each architecture, next to its rows (arch/families). Source: docs/formats/bump5.md.
#pragma once

#include <string_view>

namespace modelutils::arch {

struct EngineFacts {
  std::string_view rope_layout = {};  ///< "pairwise" or "split"; empty: the engine does not compute the architecture
  bool has_qk_norms = false;
  bool has_post_norms = false;
  bool is_gemma = false;  ///< activations quantised to Q8_0, a sliding window in every layer, no scaling of positions
};

}  // namespace modelutils::arch

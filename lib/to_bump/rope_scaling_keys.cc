#include "to_bump/rope_scaling_keys.h"

namespace modelutils {

RopeScalingKeys rope_scaling_keys(const gguf::Index& index) {
  RopeScalingKeys scaling;
  scaling.type = index.string_value(index.arch_key("rope.scaling.type")).value_or("");
  scaling.factor = index.float_value(index.arch_key("rope.scaling.factor"));
  if (!scaling.factor) scaling.factor = index.float_value(index.arch_key("rope.scale_linear"));  // in some old files
  if (scaling.type.empty() && scaling.factor && *scaling.factor != 1) scaling.type = "linear";
  if (scaling.type == "linear" && scaling.factor.value_or(1) == 1) scaling.type.clear();
  if (scaling.type == "none") scaling.type.clear();
  return scaling;
}

}  // namespace modelutils

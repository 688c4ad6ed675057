// Which tensors of a safetensors model are shown, and in which order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "model/safetensors_model.h"
#include "report/not_found.h"

namespace modelutils {

/// Places in SafetensorsModel::set (as listed() counts) whose names match one of the patterns (all if there is none),
/// in the order of the files.
std::vector<u32> select_tensors(const SafetensorsModel& model, const std::vector<std::string>& patterns);

/// Every name that the patterns select from.
EachName each_tensor_name(const SafetensorsModel& model);

/// Tensors that belong together: those of one layer ("model.layers.3"), or those outside all layers (empty title).
struct LayerGroup {
  std::string_view title;  ///< the names' common beginning, up to and with the first number
  std::vector<u32> tensors;
};

/// Groups by the first all-digits part of the name; outside first, then by name and number; in a group by name.
std::vector<LayerGroup> group_by_layer(const SafetensorsModel& model, const std::vector<u32>& tensors);

}  // namespace modelutils

// What config.json says of the forms of a directory's tensors.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "hf/config_members.h"
#include "to_directory/forms.h"
#include "to_directory/tensor_map.h"

namespace modelutils::to_directory {

/// `quantization`: the parameters of most weights, and every module that departs from them; nothing if none is packed.
std::optional<hf::ConfigMembers> quantization_members(const DirectoryMap& map, const std::vector<DirectoryForm>& forms);

/// `torch_dtype`: the type of most values that are not packed, or else of the scales.
std::string_view torch_dtype(const DirectoryMap& map, const std::vector<DirectoryForm>& forms);

}  // namespace modelutils::to_directory

// Derives config.json's `quantization` and `torch_dtype` from the forms of a directory's tensors.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "hf/config_members.h"
#include "to_directory/forms.h"
#include "to_directory/tensor_map.h"

namespace modelutils::to_directory {

/// Returns the members of `quantization`: the parameters of most weights, and each module that differs. Returns nullopt
/// if no tensor is packed.
std::optional<hf::ConfigMembers> quantization_members(const DirectoryMap& map, const std::vector<DirectoryForm>& forms);

/// Returns `torch_dtype`: the type of most plain values, or of most scales if all tensors are packed.
std::string_view torch_dtype(const DirectoryMap& map, const std::vector<DirectoryForm>& forms);

}  // namespace modelutils::to_directory

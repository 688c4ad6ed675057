#include "to_directory/fused.h"

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arch/families.h"
#include "arch/gguf_sizes.h"
#include "arch/loader_forms.h"
#include "base/checked_math.h"

namespace modelutils::to_directory {

namespace {

using Parts = std::unordered_map<std::string, std::vector<arch::ExpectedTensor>>;

std::string_view without_side(std::string_view name) {
  return name.substr(0, name.rfind('.'));
}

// Rows of one after those of another: where the parts begin follows from their sizes. Nothing if they are not the
// whole.
std::vector<gguf::TensorInfo> rows_of_parts(const gguf::TensorInfo& whole,
                                            const std::vector<arch::ExpectedTensor>& expected) {
  std::vector<gguf::TensorInfo> parts;
  u64 taken = 0;
  for (const arch::ExpectedTensor& one : expected) {
    gguf::TensorInfo& part = parts.emplace_back(whole);
    part.name = one.name;
    part.ne = one.ne;
    part.n_dims = static_cast<u32>(one.ne.size());
    const auto bytes = part.bytes();
    const auto offset = checked_add(whole.offset, taken);
    const auto next = bytes ? checked_add(taken, *bytes) : std::nullopt;
    if (!offset || !next) return {};
    part.offset = *offset;
    taken = *next;
  }
  return whole.bytes() == taken ? parts : std::vector<gguf::TensorInfo>{};
}

// The factors of a matrix are those of each of its parts.
std::vector<gguf::TensorInfo> factors_of_parts(const gguf::TensorInfo& whole, const Parts& fused) {
  std::vector<gguf::TensorInfo> parts;
  const std::string_view module = without_side(whole.name);
  const auto found = fused.find(std::string(module) + ".weight");
  if (found == fused.end() || (!whole.name.ends_with(".scale") && !whole.name.ends_with(".input_scale"))) return parts;
  for (const arch::ExpectedTensor& one : found->second) {
    parts.emplace_back(whole).name = std::string(without_side(one.name)) + whole.name.substr(module.size());
  }
  return parts;
}

}  // namespace

bool take_fused_apart(gguf::SplitSet& set) {
  const gguf::Index index(set.files.front().document);
  const arch::Family* family = arch::find_family(index);
  if (family == nullptr) return false;
  Result<arch::Sizes> sizes = arch::read_gguf_sizes(*family, index, set.files.front());
  if (!sizes) return false;
  arch::leave_out_prediction(*family, index, *sizes);
  std::unordered_map<std::string_view, const gguf::TensorInfo*> tensors;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) tensors.emplace(tensor.name, &tensor);
  }
  Parts fused;
  for (arch::FusedTensor& one : arch::fused_tensors(
           *family, [&](const std::string& name) { return tensors.contains(name); },
           arch::expected_tensors(*family, *sizes))) {
    fused.emplace(std::move(one.name), std::move(one.parts));
  }
  if (fused.empty()) return false;
  for (gguf::SetFile& file : set.files) {
    std::vector<gguf::TensorInfo> all;
    for (gguf::TensorInfo& tensor : file.document.tensors) {
      const auto found = fused.find(tensor.name);
      std::vector<gguf::TensorInfo> parts =
          found == fused.end() ? factors_of_parts(tensor, fused) : rows_of_parts(tensor, found->second);
      if (parts.empty()) parts.push_back(std::move(tensor));
      for (gguf::TensorInfo& part : parts) all.push_back(std::move(part));
    }
    file.document.tensors = std::move(all);
  }
  return true;
}

}  // namespace modelutils::to_directory

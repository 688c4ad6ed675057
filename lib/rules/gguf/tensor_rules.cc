// Checks dimensions, types and sizes of the tensor infos.
#include <fmt/core.h>

#include <algorithm>

#include "base/checked_math.h"
#include "rules/gguf/rule_parts.h"
#include "tensor/shape.h"

namespace modelutils::gguf_rules {

namespace {

constexpr u32 max_dims = 4;

class GgufTensorRules {
 public:
  GgufTensorRules(const gguf::TensorInfo& tensor, FindingLog& log)
      : tensor_(tensor), place_(at_tensor(tensor.name)), log_(log) {}

  void check() {
    if (tensor_.n_dims == 0)
      log_.warning(Scope::container, "gguf-dims-none", "the tensor has no dimensions, and thus one element", place_,
                   tensor_.info_offset);
    const bool dims_are_sound = check_dims();
    const std::optional<TensorType> type = tensor_.type();
    if (!type) return unknown_type();
    if (!dims_are_sound) return;
    const TypeInfo& info = type_info(*type);
    const u64 ne0 = tensor_.ne.empty() ? 1 : tensor_.ne[0];
    if (ne0 % info.block_elements != 0) {
      return log_.error(Scope::container, "gguf-row-size",
                        fmt::format("ne0 is {}, but {} needs a multiple of {}", ne0, info.name, info.block_elements),
                        place_, tensor_.info_offset);
    }
    if (!element_count(tensor_.ne)) {
      return log_.error(Scope::container, "gguf-tensor-size",
                        fmt::format("the number of elements of {} does not fit in 64 bits", shape_text(tensor_.ne)),
                        place_, tensor_.info_offset);
    }
    if (!tensor_.bytes()) {
      log_.error(
          Scope::container, "gguf-tensor-size",
          fmt::format("the size of {} elements of {} does not fit in 63 bits", shape_text(tensor_.ne), info.name),
          place_, tensor_.info_offset);
    }
  }

 private:
  // Returns false if the dimensions cannot be used in computations.
  bool check_dims() {
    if (tensor_.n_dims > max_dims) return false;  // the parser reports this
    for (std::size_t i = 0; i < tensor_.ne.size(); ++i) {
      const u64 dim = tensor_.ne[i];
      if (static_cast<i64>(dim) < 0) {
        log_.error(Scope::container, "gguf-dim-negative",
                   fmt::format("ne{} is {} (0x{:x}), negative as a signed number", i, static_cast<i64>(dim), dim),
                   place_, tensor_.info_offset);
        return false;
      }
    }
    if (std::find(tensor_.ne.begin(), tensor_.ne.end(), u64{0}) != tensor_.ne.end()) {
      log_.warning(Scope::container, "gguf-dim-zero",
                   fmt::format("the shape is {}: the tensor is empty", shape_text(tensor_.ne)), place_,
                   tensor_.info_offset);
    }
    return true;
  }

  void unknown_type() {
    const u32 id = tensor_.type_id;
    const bool removed = id == 4 || id == 5 || (id >= 31 && id <= 33) || (id >= 36 && id <= 38);
    if (removed)
      return log_.error(Scope::container, "gguf-tensor-type", fmt::format("type {} was removed from ggml", id), place_,
                        tensor_.info_offset);
    log_.error(Scope::container, "gguf-tensor-type",
               fmt::format("type {} is unknown{}: the tensor's size cannot be determined", id,
                           id >= 97 && id < 1024 ? " (ids from 97 on belong to a fork of ggml)" : ""),
               place_, tensor_.info_offset);
  }

  const gguf::TensorInfo& tensor_;
  const Place place_;
  FindingLog& log_;
};

}  // namespace

void check_tensor_infos(const gguf::Document& document, FindingLog& log) {
  for (const gguf::TensorInfo& tensor : document.tensors) GgufTensorRules(tensor, log).check();
}

}  // namespace modelutils::gguf_rules

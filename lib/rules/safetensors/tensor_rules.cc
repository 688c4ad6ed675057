// Checks one safetensors entry by itself: name, dtype, shape, offsets, size.
#include <fmt/core.h>

#include "base/counted.h"
#include "base/escape.h"
#include "base/joined.h"
#include "rules/safetensors/rule_parts.h"
#include "rules/wording.h"

namespace modelutils::safetensors_rules {

namespace {

using safetensors::Tensor;

class SafetensorsTensorRules {
 public:
  SafetensorsTensorRules(const Tensor& tensor, FindingLog& log)
      : tensor_(tensor), place_(at_tensor(tensor.name)), log_(log) {}

  void check() {
    if (needs_escape(tensor_.name)) {
      log_.warning(
          Scope::container, "st-name-control",
          [] { return std::string("the name contains control or invisible characters"); }, place_,
          tensor_.entry_offset);
    }
    if (!tensor_.type) {
      log_.error(
          Scope::model, "st-dtype", [&] { return fmt::format("'{}' is not a dtype of the format", tensor_.dtype); },
          place_, tensor_.entry_offset);
    }
    const bool in_order = tensor_.begin <= tensor_.end;
    if (!in_order) {
      log_.error(
          Scope::container, "st-offsets",
          [&] { return fmt::format("data_offsets end at {}, before they start at {}", tensor_.end, tensor_.begin); },
          place_, tensor_.entry_offset);
    }
    check_size(in_order);
  }

 private:
  void check_size(bool in_order) {
    const std::optional<u64> elements = tensor_.elements();
    if (!elements) {
      return log_.error(
          Scope::container, "st-shape-overflow",
          [&] {
            return fmt::format("the number of elements of shape [{}] does not fit in 64 bits", joined(tensor_.shape));
          },
          place_, tensor_.entry_offset);
    }
    if (!tensor_.type) return;
    const TypeInfo& type = type_info(*tensor_.type);
    if (*elements % type.block_elements != 0) {
      return log_.error(
          Scope::container, "st-partial-byte",
          [&] {
            return fmt::format("{} of {} {} not a whole number of bytes", counted(*elements, "element"), type.name,
                               verb(*elements, "is", "are"));
          },
          place_, tensor_.entry_offset);
    }
    const std::optional<u64> bytes = tensor_.expected_bytes();
    if (!bytes) {
      return log_.error(
          Scope::container, "st-shape-overflow",
          [&] { return fmt::format("{} elements of {} take more bytes than a file can have", *elements, type.name); },
          place_, tensor_.entry_offset);
    }
    if (in_order && tensor_.bytes() != *bytes) {
      log_.error(
          Scope::container, "st-size",
          [&] {
            return fmt::format("data_offsets span {}, but {} [{}] takes {}", counted(tensor_.bytes(), "byte"),
                               type.name, joined(tensor_.shape), *bytes);
          },
          place_, tensor_.entry_offset);
    }
  }

  const Tensor& tensor_;
  const Place place_;
  FindingLog& log_;
};

}  // namespace

void check_tensors(const safetensors::Document& document, FindingLog& log) {
  for (const Tensor& tensor : document.tensors) SafetensorsTensorRules(tensor, log).check();
}

}  // namespace modelutils::safetensors_rules

// One safetensors entry by itself: name, dtype, shape, offsets, size.
#include <fmt/format.h>

#include "base/counted.h"
#include "base/escape.h"
#include "verify/safetensors_rule_parts.h"
#include "verify/wording.h"

namespace modelutils::safetensors_rules {

namespace {

using safetensors::Tensor;

class SafetensorsTensorRules {
 public:
  SafetensorsTensorRules(const Tensor& tensor, FindingLog& log) : tensor_(tensor), log_(log) {}

  void check() {
    if (needs_escape(tensor_.name)) {
      add(Severity::warning, Scope::container, "st-name-control",
          [] { return std::string("the name contains control or invisible characters"); });
    }
    if (!tensor_.type) {
      add(Severity::error, Scope::model, "st-dtype",
          [&] { return fmt::format("'{}' is not a dtype of the format", tensor_.dtype); });
    }
    const bool in_order = tensor_.begin <= tensor_.end;
    if (!in_order) {
      fail("st-offsets",
           [&] { return fmt::format("data_offsets end at {}, before they start at {}", tensor_.end, tensor_.begin); });
    }
    check_size(in_order);
  }

 private:
  void check_size(bool in_order) {
    const std::optional<u64> elements = tensor_.elements();
    if (!elements) {
      return fail("st-shape-overflow", [&] {
        return fmt::format("the number of elements of shape [{}] does not fit in 64 bits",
                           fmt::join(tensor_.shape, ", "));
      });
    }
    if (!tensor_.type) return;
    const TypeInfo& type = type_info(*tensor_.type);
    if (*elements % type.block_elements != 0) {
      return fail("st-partial-byte", [&] {
        return fmt::format("{} of {} {} not a whole number of bytes", counted(*elements, "element"), type.name,
                           verb(*elements, "is", "are"));
      });
    }
    const std::optional<u64> bytes = tensor_.expected_bytes();
    if (!bytes) {
      return fail("st-shape-overflow", [&] {
        return fmt::format("{} elements of {} take more bytes than a file can have", *elements, type.name);
      });
    }
    if (in_order && tensor_.bytes() != *bytes) {
      fail("st-size", [&] {
        return fmt::format("data_offsets span {}, but {} [{}] takes {}", counted(tensor_.bytes(), "byte"), type.name,
                           fmt::join(tensor_.shape, ", "), *bytes);
      });
    }
  }

  template <typename MakeMessage>
  void fail(std::string_view code, MakeMessage&& message) {
    add(Severity::error, Scope::container, code, message);
  }

  template <typename MakeMessage>
  void add(Severity severity, Scope scope, std::string_view code, MakeMessage&& message) {
    if (!log_.keeps(severity, code)) return log_.count_only(severity, code);
    log_.add({severity, scope, std::string(code), tensor_.entry_offset, tensor_where(tensor_.name), message(), {}});
  }

  const Tensor& tensor_;
  FindingLog& log_;
};

}  // namespace

void check_tensors(const safetensors::Document& document, FindingLog& log) {
  for (const Tensor& tensor : document.tensors) SafetensorsTensorRules(tensor, log).check();
}

}  // namespace modelutils::safetensors_rules

#include "report/value_slice.h"

#include <fmt/core.h>

#include <charconv>

#include "base/counted.h"

namespace modelutils {

namespace {

std::optional<u64> slice_number(std::string_view text, u64 otherwise) {
  if (text.empty()) return otherwise;
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

}  // namespace

Result<ValueSlice> ValueSlice::parse(std::string_view text, const Model& model, const Tensor& tensor) {
  const std::vector<u64> shape = model.in_file_order(model.ne_of(tensor));
  ValueSlice slice;
  slice.first_is_fastest_ = !model.safetensors;
  const auto refuse = [&](std::string_view why) {
    return usage_error(fmt::format("--values {}[{}]: {}", tensor.name, text, why));
  };
  std::string_view rest = text;
  bool more = true;
  for (const u64 size : shape) {
    const std::string_view one = more ? rest.substr(0, rest.find(',')) : std::string_view();
    more = more && one.size() < rest.size();
    rest.remove_prefix(more ? one.size() + 1 : rest.size());
    const std::size_t colon = one.find(':');
    const std::optional<u64> begin = slice_number(one.substr(0, colon), 0);
    const std::optional<u64> end = colon != std::string_view::npos ? slice_number(one.substr(colon + 1), size)
                                   : one.empty() || !begin || *begin == ~u64{0} ? std::optional(size)
                                                                                : std::optional(*begin + 1);
    if (!begin || !end) return refuse("write a range for each dimension, as in [10:20,0:4]");
    if (*begin >= *end || *end > size) return refuse(fmt::format("'{}' is outside this dimension (0:{})", one, size));
    slice.ranges_.push_back({*begin, *end, size});
  }
  if (more || !rest.empty()) return refuse("the tensor has " + counted(shape.size(), "dimension"));
  return slice;
}

std::vector<u64> ValueSlice::shape() const {
  std::vector<u64> shape;
  for (const Range& range : ranges_) shape.push_back(range.end - range.begin);
  return shape;
}

bool ValueSlice::contains(u64 index) const {
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    const Range& range = ranges_[first_is_fastest_ ? i : ranges_.size() - 1 - i];
    const u64 at = index % range.size;
    if (at < range.begin || at >= range.end) return false;
    index /= range.size;
  }
  return true;
}

u64 ValueSlice::end() const {
  u64 last = 0;
  for (std::size_t i = ranges_.size(); i-- > 0;) {
    const Range& range = ranges_[first_is_fastest_ ? i : ranges_.size() - 1 - i];
    last = last * range.size + range.end - 1;
  }
  return last + 1;
}

std::optional<SlicedName> sliced_name(std::string_view text) {
  const std::size_t bracket = text.rfind('[');
  if (!text.ends_with(']') || bracket == std::string_view::npos || bracket == 0) return std::nullopt;
  return SlicedName{text.substr(0, bracket), text.substr(bracket + 1, text.size() - bracket - 2)};
}

}  // namespace modelutils

#include "verify/against/scaled_values.h"

#include <algorithm>
#include <cstring>

#include "base/byte_reader.h"

namespace modelutils {

namespace {

constexpr std::string_view scale_suffix = ".scale";
constexpr std::string_view weight_suffix = ".weight";

u64 factors_of(const Tensor& scale) {
  return std::max<u64>(scale.bytes / sizeof(float), 1);
}

}  // namespace

Scales find_scales(const Catalog& catalog, const std::function<bool(std::string_view name)>& is_own) {
  Scales scales;
  for (const Tensor& tensor : catalog.tensors) {
    if (!tensor.name.ends_with(scale_suffix) || tensor.type != TensorType::F32 || !tensor.is_readable()) continue;
    if (is_own(tensor.name)) continue;
    std::string weight(tensor.name.substr(0, tensor.name.size() - scale_suffix.size()));
    weight += weight_suffix;
    const Tensor* found = catalog.find(weight);
    const u64 factors = factors_of(tensor);
    if (found == nullptr || (factors != 1 && (found->ne.size() != 3 || found->ne[2] != factors))) continue;
    scales.emplace(std::move(weight), &tensor);
  }
  return scales;
}

ScaledValues::ScaledValues(const Catalog& catalog, const Tensor& weight, const Tensor& scale)
    : TensorValues(plain_form(TensorType::F32), catalog.values_of(weight).elements(), catalog.values_of(weight).unit()),
      catalog_(catalog),
      scale_(scale),
      values_(catalog.values_of(weight)),
      of_factor_(std::max<u64>(elements() / factors_of(scale), 1)) {}

Status ScaledValues::read(u64 first, u64 count, StoredRows& out) const {
  std::vector<std::byte> factors(static_cast<std::size_t>(factors_of(scale_) * sizeof(float)));
  MU_TRY(catalog_.read(scale_, 0, factors));
  StoredRows stored;
  MU_TRY(values_.read(first, count, stored));
  std::vector<float> values(static_cast<std::size_t>(count * unit()));
  values_.decode(stored, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const u64 factor = std::min<u64>((first * unit() + i) / of_factor_, factors_of(scale_) - 1);
    values[i] *= load<float>(factors.data() + factor * sizeof(float));
  }
  out = {};
  out.values().resize(values.size() * sizeof(float));
  std::memcpy(out.values().data(), values.data(), out.values().size());
  return {};
}

void ScaledValues::decode(const StoredRows& rows, std::span<float> out) const {
  std::memcpy(out.data(), rows.values().data(), out.size_bytes());
}

}  // namespace modelutils

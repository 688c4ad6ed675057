#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <memory>

#include "edit/safetensors/st_edit.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"
#include "tensor/narrow.h"

namespace modelutils::to_safetensors {

namespace {

// The largest value that rounds to 448, the largest of F8_E4M3: halfway to the next step, ties to even.
constexpr float most_e4m3 = 464;
constexpr u8 e4m3_nan = 0x7F;

// Rounds to nearest, ties to even. The caller refuses values beyond the type's largest.
u8 to_f8_e4m3(float value) {
  const u32 bits = std::bit_cast<u32>(value);
  const u8 sign = static_cast<u8>(bits >> 31 << 7);
  const u32 magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return sign | e4m3_nan;
  constexpr u32 least_normal = 121u << 23;  // 2^-6
  if (magnitude < least_normal) {
    constexpr float unit_at_2_to_minus_9 = 16384;
    const float sum = std::bit_cast<float>(magnitude) + unit_at_2_to_minus_9;
    return static_cast<u8>(sign | (std::bit_cast<u32>(sum) - std::bit_cast<u32>(unit_at_2_to_minus_9)));
  }
  const u32 rebiased = magnitude - (120u << 23);
  return static_cast<u8>(sign | ((rebiased + 0x7FFFF + (rebiased >> 20 & 1)) >> 20));
}

// Rounds to odd: a later rounding to fewer bits then gives the nearest value of the double.
float rounded_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || std::isinf(value) || static_cast<double>(nearest) == value) return nearest;
  u32 bits = std::bit_cast<u32>(nearest);
  if (std::fabs(static_cast<double>(nearest)) > std::fabs(value)) --bits;
  return std::bit_cast<float>(bits | 1);
}

Status overflows(const EditedTensor& tensor, double value) {
  return input_error("edit-overflow",
                     fmt::format("holds {}, which {} cannot hold; keep its type with --dtype-of '{}=TYPE'", value,
                                 type_name(tensor.type), tensor.name),
                     at_tensor(tensor.name));
}

// Calls visit(source element, count, position in the output) for the runs that make elements [first, first + count).
template <typename Visit>
Status for_each_run(const EditedTensor& tensor, u64 first, u64 count, const Visit& visit) {
  for (const RecipePart& part : tensor.parts) {
    const u64 begin = part.to.base * tensor.unit;
    const u64 from = std::max(first, begin), to = std::min(first + count, begin + part.units() * tensor.unit);
    if (from >= to) continue;
    MU_TRY(visit(part.from.base * tensor.unit + (from - begin), to - from, from - first));
  }
  return {};
}

Status read_values(const EditedSet& set, const EditedTensor& tensor, u64 first, std::span<float> values) {
  const MatrixValues source = tensor.decoded != nullptr ? set.model.values_of(set.source(tensor))
                                                        : set.model.catalog().values_of(set.source(tensor));
  return for_each_run(tensor, first, values.size(), [&](u64 element, u64 count, u64 at) -> Status {
    const std::span<float> out = values.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
    MU_TRY(source.read_values(element, out));
    if (tensor.merge == nullptr) return {};
    if (tensor.ne.size() < 2) return tensor.merge->apply_vector(out);
    const u64 columns = tensor.columns();
    return tensor.merge->apply(element / columns, count / columns, out);
  });
}

Status read_doubles(const EditedSet& set, const EditedTensor& tensor, u64 first, std::span<double> values) {
  return for_each_run(tensor, first, values.size(), [&](u64 element, u64 count, u64 at) -> Status {
    return set.model.catalog().read(
        set.source(tensor), element * sizeof(double),
        std::as_writable_bytes(values.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count))));
  });
}

void narrow_to(TensorType type, std::span<const float> values, std::byte* out) {
  if (type != TensorType::F8_E4M3) return narrow(type, values, out);
  for (std::size_t i = 0; i < values.size(); ++i) out[i] = std::byte{to_f8_e4m3(values[i])};
}

// The first value that is finite but was carried as an infinity, or is beyond a type without one.
std::optional<std::size_t> first_overflow(TensorType type, std::span<const float> values,
                                          std::span<const float> carried) {
  if (type == TensorType::F8_E4M3) {
    const auto beyond = std::ranges::find_if(values, [](float value) { return std::fabs(value) > most_e4m3; });
    return beyond == values.end() ? std::nullopt : std::optional<std::size_t>(beyond - values.begin());
  }
  // Without an early exit, so that compilers use vectors.
  const auto is_infinite = [](float value) { return (std::bit_cast<u32>(value) & 0x7FFFFFFF) == 0x7F800000; };
  unsigned lost = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    lost |= static_cast<unsigned>(is_infinite(carried[i])) & static_cast<unsigned>(!is_infinite(values[i]));
  }
  for (std::size_t i = 0; lost != 0 && i < values.size(); ++i) {
    if (is_infinite(carried[i]) && !is_infinite(values[i])) return i;
  }
  return std::nullopt;
}

Status encode_doubles(const EditedSet& set, const EditedTensor& tensor, u64 first, std::size_t count, MutableBytes out,
                      ValueSums* error) {
  std::vector<double> values(count);
  MU_TRY(read_doubles(set, tensor, first, values));
  std::vector<float> narrowed(count), carried(count);
  for (std::size_t i = 0; i < count; ++i) {
    narrowed[i] = tensor.type == TensorType::F32 ? static_cast<float>(values[i]) : rounded_to_odd(values[i]);
  }
  narrow_to(tensor.type, narrowed, out.data());
  dequantize(tensor.type, out, carried);
  for (std::size_t i = 0; i < count; ++i) {
    const bool has_infinity = tensor.type != TensorType::F8_E4M3;
    const bool is_lost = has_infinity ? std::isinf(carried[i]) && !std::isinf(values[i])
                                      : std::fabs(values[i]) > static_cast<double>(most_e4m3);
    if (is_lost) return overflows(tensor, values[i]);
    if (error == nullptr || !std::isfinite(values[i])) continue;
    const double difference = static_cast<double>(carried[i]) - values[i];
    error->aa += values[i] * values[i];
    error->dd += difference * difference;
    error->max_abs = std::max(error->max_abs, std::fabs(difference));
  }
  return {};
}

// Number of elements decoded at a time. They fit the second-level cache together with their input, and are so few that
// the allocator does not return the buffers to the system after each call.
constexpr std::size_t piece = std::size_t{16} << 10;

// Values before and after the cast of one piece.
struct PieceBuffers {
  std::unique_ptr<float[]> before, after;

  static PieceBuffers of(std::size_t count) {
    return {std::make_unique_for_overwrite<float[]>(count), std::make_unique_for_overwrite<float[]>(count)};
  }
};

Status encode_piece(const EditedSet& set, const EditedTensor& tensor, u64 first, std::size_t count, MutableBytes out,
                    ValueSums* error, const PieceBuffers& buffers) {
  const std::span<float> values(buffers.before.get(), count), carried(buffers.after.get(), count);
  MU_TRY(read_values(set, tensor, first, values));
  if (tensor.operation != arch::Operation::none) {
    for (float& value : values) value = apply_operation(tensor.operation, tensor.operand, value);
  }
  narrow_to(tensor.type, values, out.data());
  if (error == nullptr) return {};
  dequantize(tensor.type, out, carried);
  if (const auto lost = first_overflow(tensor.type, values, carried)) {
    return overflows(tensor, static_cast<double>(values[*lost]));
  }
  measure(values, carried, *error);
  return {};
}

}  // namespace

bool may_round(const EditedSet& set, const EditedTensor& tensor) {
  const TensorType from = *set.source(tensor).type;
  if (tensor.is_copy(set.source(tensor))) return false;
  if (tensor.merge != nullptr || tensor.operation != arch::Operation::none) return true;
  if (tensor.decoded != nullptr) return tensor.type != TensorType::F32;
  if (from == TensorType::F64 || tensor.type == TensorType::F8_E4M3) return true;
  return tensor.type != TensorType::F32 && type_info(from).block_bytes > 1;
}

Status encode_tensor(const EditedSet& set, const EditedTensor& tensor, u64 first, u64 count, MutableBytes out,
                     ValueSums* error) {
  const Tensor& source = set.source(tensor);
  if (tensor.is_copy(source)) {  // the unit is a byte
    const u64 unit_bytes = packed_bytes(tensor.type, tensor.unit).value_or(tensor.bytes());
    for (const RecipePart& part : tensor.parts) {
      const u64 begin = part.to.base * unit_bytes;
      const u64 end = tensor.parts.size() == 1 ? tensor.bytes() : begin + part.units() * unit_bytes;
      const u64 from = std::max(first, begin), to = std::min(first + count, end);
      if (from >= to) continue;
      MU_TRY(set.model.catalog().read(
          source, part.from.base * unit_bytes + (from - begin),
          out.subspan(static_cast<std::size_t>(from - first), static_cast<std::size_t>(to - from))));
    }
    return {};
  }
  const bool is_of_doubles = source.type == TensorType::F64 && tensor.decoded == nullptr && tensor.merge == nullptr &&
                             tensor.operation == arch::Operation::none;
  // Merging takes whole rows, which may be longer than a piece.
  const u64 rows = tensor.merge != nullptr ? std::max<u64>(piece / std::max<u64>(tensor.columns(), 1), 1) : 0;
  const u64 step = rows > 0 ? rows * tensor.columns() : piece;
  const u64 size = packed_bytes(tensor.type, 1).value_or(1);
  const PieceBuffers buffers = PieceBuffers::of(static_cast<std::size_t>(std::min(step, count)));
  for (u64 done = 0; done < count; done += step) {
    const std::size_t now = static_cast<std::size_t>(std::min(step, count - done));
    const MutableBytes to = out.subspan(static_cast<std::size_t>(done * size), static_cast<std::size_t>(now * size));
    MU_TRY(is_of_doubles ? encode_doubles(set, tensor, first + done, now, to, error)
                         : encode_piece(set, tensor, first + done, now, to, error, buffers));
  }
  return {};
}

}  // namespace modelutils::to_safetensors

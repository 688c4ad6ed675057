#include "to_bump/v5_types.h"

#include <algorithm>
#include <array>

namespace modelutils {

namespace {

struct Row {
  TensorType type;
  std::optional<TensorType> uses[3];  // in the order of Bump5Use
};

using enum TensorType;
constexpr std::nullopt_t none = std::nullopt;

// clang-format off
constexpr std::array<Row, 11> carried_types = {{
    //      matrix, embedding, gemma_gate_up
    {F32,  {F32,  F32,  F32}},
    {F16,  {F16,  F32,  F32}},
    {BF16, {F32,  F32,  F32}},
    {Q8_0, {Q8_0, Q8_0, Q8_0}},
    {Q4_K, {Q4_K, Q4_K, none}},
    {Q6_K, {Q6_K, Q6_K, none}},
    {Q5_0, {Q5_0, Q8_0, Q8_0}},
    {Q5_1, {Q5_1, F32,  Q5_1}},
    {Q5_K, {Q5_K, F32,  none}},
    {Q4_0, {Q8_0, Q8_0, Q8_0}},
    {Q4_1, {Q5_1, F32,  Q5_1}},
}};
// clang-format on

}  // namespace

std::optional<TensorType> bump5_type(TensorType type, Bump5Use use) {
  const auto found = std::ranges::find(carried_types, type, &Row::type);
  return found == carried_types.end() ? std::nullopt : found->uses[static_cast<std::size_t>(use)];
}

}  // namespace modelutils

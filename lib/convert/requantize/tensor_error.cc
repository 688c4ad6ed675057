#include "convert/requantize/tensor_error.h"

#include <algorithm>
#include <cstring>

#include "base/instructions.h"

namespace modelutils::requantize {

namespace {

// Sums are kept in lanes of doubles. The number of lanes is fixed, so results are equal on every machine.
constexpr std::size_t lanes = 8;
using Floats [[gnu::vector_size(4 * lanes)]] = float;
using Doubles [[gnu::vector_size(8 * lanes)]] = double;

struct Sums {
  Doubles aa{}, bb{}, ab{}, dd{}, weighted_aa{}, weighted_dd{};
  Floats max_abs{};
};

[[gnu::always_inline]] inline double sum_of(const Doubles& some) {
  double sum = 0;
  for (std::size_t i = 0; i < lanes; ++i) sum += some[i];
  return sum;
}

[[gnu::always_inline]] inline Floats loaded(const float* from, std::size_t count) {
  Floats some{};
  std::memcpy(&some, from, 4 * count);
  return some;
}

[[gnu::always_inline]] inline void add_lanes(const Floats& exact, const Floats& carried, const Floats* weights,
                                             Sums& sums) {
  const Doubles x = __builtin_convertvector(exact, Doubles);
  const Doubles y = __builtin_convertvector(carried, Doubles);
  const Doubles difference = x - y;
  const Floats magnitude = exact > carried ? exact - carried : carried - exact;
  sums.max_abs = magnitude > sums.max_abs ? magnitude : sums.max_abs;
  sums.aa += x * x;
  sums.bb += y * y;
  sums.ab += x * y;
  sums.dd += difference * difference;
  if (weights != nullptr) {
    const Doubles w = __builtin_convertvector(*weights, Doubles);
    sums.weighted_aa += w * x * x;
    sums.weighted_dd += w * difference * difference;
  }
}

}  // namespace

void measure_row(std::span<const float> exact, std::span<const float> carried, std::span<const float> weights,
                 TensorError& error) {
  Sums sums;
  run_with(
      best_instructions(), [&](auto) __attribute__((flatten)) {
        for (std::size_t i = 0; i < exact.size(); i += lanes) {
          const std::size_t count = std::min(lanes, exact.size() - i);
          const Floats x = loaded(exact.data() + i, count);
          const Floats y = loaded(carried.data() + i, count);
          if (weights.empty()) {
            add_lanes(x, y, nullptr, sums);
          } else {
            const Floats w = loaded(weights.data() + i, count);
            add_lanes(x, y, &w, sums);
          }
        }
      });
  TensorError added;
  added.plain.aa = sum_of(sums.aa);
  added.plain.bb = sum_of(sums.bb);
  added.plain.ab = sum_of(sums.ab);
  added.plain.dd = sum_of(sums.dd);
  for (std::size_t i = 0; i < lanes; ++i) added.plain.max_abs = std::max(added.plain.max_abs, double{sums.max_abs[i]});
  added.weighted.aa = sum_of(sums.weighted_aa);
  added.weighted.dd = sum_of(sums.weighted_dd);
  error.add(added);
}

}  // namespace modelutils::requantize

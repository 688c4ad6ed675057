#include "requantize/tensor_error.h"

#include <algorithm>
#include <cstring>

#include "base/instructions.h"

namespace modelutils::requantize {

namespace {

// Sums in lanes of doubles: the number of lanes is the same on every machine, so that sums are, too.
constexpr std::size_t lanes = 8;
using Floats [[gnu::vector_size(4 * lanes)]] = float;
using Doubles [[gnu::vector_size(8 * lanes)]] = double;

struct Sums {
  Doubles values2{}, carried2{}, product{}, error2{}, weighted_values2{}, weighted_error2{};
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
  sums.values2 += x * x;
  sums.carried2 += y * y;
  sums.product += x * y;
  sums.error2 += difference * difference;
  if (weights != nullptr) {
    const Doubles w = __builtin_convertvector(*weights, Doubles);
    sums.weighted_values2 += w * x * x;
    sums.weighted_error2 += w * difference * difference;
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
  TensorError added{.values2 = sum_of(sums.values2),
                    .carried2 = sum_of(sums.carried2),
                    .product = sum_of(sums.product),
                    .error2 = sum_of(sums.error2),
                    .max_abs = 0,
                    .weighted_values2 = sum_of(sums.weighted_values2),
                    .weighted_error2 = sum_of(sums.weighted_error2)};
  for (std::size_t i = 0; i < lanes; ++i) added.max_abs = std::max(added.max_abs, double{sums.max_abs[i]});
  error.add(added);
}

}  // namespace modelutils::requantize

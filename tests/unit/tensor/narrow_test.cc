// Converts many values at a time, compared with the functions for single values.
#include "tensor/narrow.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tensor/half.h"

namespace modelutils {
namespace {

// Values of every magnitude, including midpoints between neighbours, NaN and infinities.
std::vector<float> floats_of_all_kinds() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> values = {0.0f,     -0.0f,     infinity, -infinity, std::nanf(""), 65504.0f,   65519.996f,
                               65520.0f, -65520.0f, 0x1p-14f, 0x1p-24f,  0x1p-25f,      0x1.8p-24f, 3.4e38f};
  for (const u32 bits : {0x7F800001u, 0xFFFFFFFFu, 0x7F7FFFFFu, 0x00000001u, 0x807FFFFFu}) {
    values.push_back(std::bit_cast<float>(bits));
  }
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) values.push_back(std::bit_cast<float>(static_cast<u32>(random())));
  for (int i = 0; i < 20000; ++i) {
    const u32 bits = static_cast<u32>((90 + random() % 60) << 23 | (random() % 2048) << 12);
    values.push_back(std::bit_cast<float>(bits | static_cast<u32>(random()) << 31));
  }
  return values;
}

// Variants available on this machine, possibly with repetitions.
const Instructions all_instructions[] = {Instructions::any_machine, best_instructions()};
const WideInstructions all_wide_instructions[] = {WideInstructions::any_machine, wide(best_instructions()),
                                                  widest_instructions()};

TEST(Narrow, GivesTheBitsOfTheSingleConversions) {
  const std::vector<float> values = floats_of_all_kinds();
  std::vector<std::byte> out(values.size() * 4 + 1);
  std::byte* const odd = out.data() + 1;
  for (const WideInstructions instructions : all_wide_instructions) {
    narrow(TensorType::F16, values, odd, instructions);
    for (std::size_t i = 0; i < values.size(); ++i) {
      u16 bits = 0;
      std::memcpy(&bits, odd + 2 * i, 2);
      ASSERT_EQ(bits, f32_to_f16(values[i])) << values[i];
    }
    narrow(TensorType::BF16, values, odd, instructions);
    for (std::size_t i = 0; i < values.size(); ++i) {
      u16 bits = 0;
      std::memcpy(&bits, odd + 2 * i, 2);
      ASSERT_EQ(bits, f32_to_bf16(values[i])) << values[i];
    }
  }
  narrow(TensorType::F32, values, odd);
  EXPECT_EQ(std::memcmp(odd, values.data(), values.size() * 4), 0);
}

// Vectors must not write beyond the last value.
TEST(Narrow, WritesAsManyAsThereAre) {
  const std::vector<float> values(40, 1.0f);
  for (const WideInstructions instructions : all_wide_instructions) {
    for (std::size_t count = 0; count < values.size(); ++count) {
      std::vector<std::byte> out(2 * values.size(), std::byte{0xEE});
      narrow(TensorType::F16, std::span(values).first(count), out.data(), instructions);
      for (std::size_t i = 0; i < values.size(); ++i) {
        ASSERT_EQ(out[2 * i + 1], i < count ? std::byte{0x3C} : std::byte{0xEE}) << count << " " << i;
      }
    }
  }
}

TEST(WidenF16, GivesTheValuesOfTheSingleConversion) {
  constexpr std::size_t stride = 7;
  std::vector<std::byte> bytes(65536 * stride + 2);
  for (u32 bits = 0; bits < 65536; ++bits) {
    const u16 half = static_cast<u16>(bits);
    std::memcpy(bytes.data() + bits * stride, &half, 2);
  }
  for (const Instructions instructions : all_instructions) {
    for (const std::size_t count : {65536, 31744, 1000, 3}) {  // the first 31744 codes are finite
      std::vector<float> values(count + 1, -1.0f);
      widen_f16(bytes.data(), stride, std::span(values).first(count), instructions);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(std::bit_cast<u32>(values[i]), std::bit_cast<u32>(f16_to_f32(static_cast<u16>(i)))) << i;
      }
      EXPECT_EQ(values[count], -1.0f);
    }
  }
}

TEST(RoundTo, GivesTheValueOfTheNarrowBits) {
  const std::vector<float> values = floats_of_all_kinds();
  for (const Instructions instructions : all_instructions) {
    for (const TensorType type : {TensorType::F16, TensorType::BF16, TensorType::F32}) {
      std::vector<float> rounded = values;
      round_to(type, std::span(rounded).first(values.size() - 1), instructions);  // not a multiple of the vector size
      EXPECT_EQ(std::bit_cast<u32>(rounded.back()), std::bit_cast<u32>(values.back()));
      for (std::size_t i = 0; i + 1 < values.size(); ++i) {
        const float wanted = type == TensorType::F16    ? f16_to_f32(f32_to_f16(values[i]))
                             : type == TensorType::BF16 ? bf16_to_f32(f32_to_bf16(values[i]))
                                                        : values[i];
        if (std::isnan(wanted)) continue;
        ASSERT_EQ(std::bit_cast<u32>(rounded[i]), std::bit_cast<u32>(wanted)) << values[i];
      }
    }
  }
}

// A single value among ones, and its effect on the facts.
struct Case {
  float value;
  bool finite, fits_f16, fits_bf16, f16_overflows;
};

TEST(NarrowFacts, TellsWhatEachTypeHolds) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Case cases[] = {
      {1.0f, true, true, true, false},
      {-0.0f, true, true, true, false},
      {1.0f + 0x1p-10f, true, true, false, false},   // needs eleven bits
      {1.0f + 0x1p-11f, true, false, false, false},  // needs twelve bits
      {0x1p-15f, true, true, true, false},           // subnormal in F16
      {0x1.004p-15f, true, false, false, false},     // its last bit is worth 2^-25
      {0x1p-24f, true, true, true, false},           // the smallest subnormal
      {0x1p-25f, true, false, true, false},          // half of the smallest
      {0x1p-120f, true, false, true, false},
      {65504.0f, true, true, false, false},    // the largest F16
      {-65519.0f, true, false, false, false},  // rounds to the largest F16
      {65520.0f, true, false, false, true},
      {-65536.0f, true, false, true, true},
      {3e38f, true, false, false, true},
      {infinity, false, true, true, false},
      {-infinity, false, true, true, false},
      {std::nanf(""), false, true, true, false},
      {std::bit_cast<float>(0xFFFFFFFFu), false, true, true, false},
  };
  for (const Case& one : cases) {
    for (const std::size_t place : {0, 21, 36}) {  // the last one is after the last whole vector
      std::vector<float> values(37, 1.0f);
      values[place] = one.value;
      for (const Instructions instructions : all_instructions) {
        const NarrowFacts facts = narrow_facts(values, instructions);
        EXPECT_EQ(facts.finite, one.finite) << one.value;
        EXPECT_EQ(facts.fits_f16, one.fits_f16) << one.value;
        EXPECT_EQ(facts.fits_bf16, one.fits_bf16) << one.value;
        EXPECT_EQ(facts.f16_overflows, one.f16_overflows) << one.value;
      }
    }
  }
}

}  // namespace
}  // namespace modelutils

#include "tensor/block_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "tensor/dequantize.h"

namespace modelutils {

namespace {

using enum TensorType;
using Buffer = std::vector<u8>;

BlockCheck check(TensorType type, std::span<const u8> bytes) {
  return check_blocks(type, std::as_bytes(bytes));
}

void put(Buffer& bytes, std::size_t at, u64 value, std::size_t size) {
  std::memcpy(bytes.data() + at, &value, size);
}

// Puts one bad block at each position in arrays of many sizes, at odd addresses.
void expect_found(TensorType type, std::size_t offset, u64 bad, std::size_t size, std::string_view field,
                  std::string_view what, bool is_warning = false) {
  const std::size_t stride = type_info(type).block_bytes;
  for (std::size_t blocks : {1u, 2u, 7u, 9u, 31u, 33u}) {
    for (std::size_t shift : {0u, 1u, 3u}) {
      Buffer bytes(shift + blocks * stride);
      const auto run = std::span(bytes).subspan(shift);
      EXPECT_EQ(check(type, run).bad_blocks, 0u);
      EXPECT_FALSE(check(type, run).first);
      for (std::size_t place = 0; place < blocks; ++place) {
        put(bytes, shift + place * stride + offset, bad, size);
        const BlockCheck got = check(type, run);
        ASSERT_EQ(got.bad_blocks, 1u) << type_name(type) << " " << place << " of " << blocks;
        ASSERT_TRUE(got.first);
        EXPECT_EQ(got.first->block, place);
        EXPECT_EQ(got.first->field, field);
        EXPECT_EQ(got.first->what, what);
        EXPECT_EQ(got.first->is_warning, is_warning);
        put(bytes, shift + place * stride + offset, 0, size);
      }
    }
  }
}

TEST(BlockCheck, Values) {
  expect_found(F16, 0, 0x7C00, 2, "value", "Inf");
  expect_found(F16, 0, 0xFC00, 2, "value", "Inf");
  expect_found(F16, 0, 0xFC01, 2, "value", "NaN");
  expect_found(F16, 0, 0x7FFF, 2, "value", "NaN");
  expect_found(BF16, 0, 0x7F80, 2, "value", "Inf");
  expect_found(BF16, 0, 0xFF81, 2, "value", "NaN");
  expect_found(F32, 0, 0xFF800000, 4, "value", "Inf");
  expect_found(F32, 0, 0x7F800001, 4, "value", "NaN");
  expect_found(F64, 0, 0x7FF0000000000000, 8, "value", "Inf");
  expect_found(F64, 0, 0xFFF0000000000001, 8, "value", "NaN");
  expect_found(C64, 0, 0x7F800000, 4, "value", "Inf");
  expect_found(C64, 4, 0x7FC00000, 4, "value", "NaN");
  expect_found(F8_E4M3, 0, 0x7F, 1, "value", "NaN");
  expect_found(F8_E4M3, 0, 0xFF, 1, "value", "NaN");
  expect_found(F8_E5M2, 0, 0x7C, 1, "value", "Inf");
  expect_found(F8_E5M2, 0, 0xFE, 1, "value", "NaN");
  expect_found(F8_E4M3FNUZ, 0, 0x80, 1, "value", "NaN");
  expect_found(F8_E5M2FNUZ, 0, 0x80, 1, "value", "NaN");
  expect_found(F8_E8M0, 0, 0xFF, 1, "value", "NaN");
  expect_found(BOOL, 0, 2, 1, "value", "is not 0 or 1", true);
  expect_found(BOOL, 0, 0x80, 1, "value", "is not 0 or 1", true);
}

// Every code of the types of one and two bytes is bad exactly if it decodes to a value that is not finite.
TEST(BlockCheck, EveryCodeOfSmallFloats) {
  for (TensorType type : {F16, BF16, F8_E4M3, F8_E5M2, F8_E4M3FNUZ, F8_E5M2FNUZ, F8_E8M0}) {
    const std::size_t size = type_info(type).block_bytes;
    for (u32 code = 0; code < (1u << (8 * size)); ++code) {
      Buffer bytes(size);
      put(bytes, 0, code, size);
      float value = 0;
      dequantize(type, std::as_bytes(std::span(bytes)), {&value, 1});
      ASSERT_EQ(check(type, bytes).bad_blocks, std::isfinite(value) ? 0u : 1u) << type_name(type) << " " << code;
    }
  }
  for (u32 code = 0; code < 256; ++code) {
    const Buffer byte = {static_cast<u8>(code)};
    EXPECT_EQ(check(BOOL, byte).bad_blocks, code > 1 ? 1u : 0u);
  }
  EXPECT_EQ(check(BOOL, Buffer{0, 1, 2, 1, 3}).bad_blocks, 2u);
}

TEST(BlockCheck, ScalesOfBlocks) {
  for (TensorType type :
       {Q4_0, Q5_0, Q8_0, IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS, IQ3_S, IQ1_S, IQ4_NL, IQ4_XS, Q1_0, Q2_0}) {
    expect_found(type, 0, 0x7C00, 2, "d", "Inf");
    expect_found(type, 0, 0xFE00, 2, "d", "NaN");
  }
  for (TensorType type : {Q4_1, Q5_1, Q8_1, Q4_K, Q5_K}) expect_found(type, 0, 0x7C00, 2, "d", "Inf");
  for (TensorType type : {Q4_1, Q5_1}) expect_found(type, 2, 0xFC00, 2, "m", "Inf");
  for (TensorType type : {Q4_K, Q5_K}) expect_found(type, 2, 0x7C10, 2, "dmin", "NaN");
  expect_found(Q8_1, 2, 0x7E00, 2, "s", "NaN");
  expect_found(Q2_K, 80, 0x7C00, 2, "d", "Inf");
  expect_found(Q2_K, 82, 0x7C00, 2, "dmin", "Inf");
  expect_found(Q3_K, 108, 0x7C00, 2, "d", "Inf");
  expect_found(Q6_K, 208, 0xFD00, 2, "d", "NaN");
  expect_found(TQ1_0, 52, 0x7C00, 2, "d", "Inf");
  expect_found(TQ2_0, 64, 0x7C00, 2, "d", "Inf");
  expect_found(Q8_K, 0, 0x7F800000, 4, "d", "Inf");
  expect_found(Q8_K, 0, 0xFFC00000, 4, "d", "NaN");
  // 0x7C00 and 0x7C01, in the top four bits of four words.
  expect_found(IQ1_M, 48, 0x7000'C000'0000'0000, 8, "d", "Inf");
  expect_found(IQ1_M, 48, 0x7000'C000'0000'1000, 8, "d", "NaN");
  expect_found(MXFP4, 0, 255, 1, "e", "NaN");
  for (u32 part = 0; part < 4; ++part) {
    for (u64 byte : {0x7F, 0x80, 0xFF}) {
      expect_found(NVFP4, part, byte, 1, "scale", "is a byte that encoders never write", true);
    }
  }
}

// Random blocks are bad exactly if a value is not finite (except for types whose rule checks more than values).
TEST(BlockCheck, AgreesWithTheDecoder) {
  std::mt19937_64 random(7);
  for (const TensorType type :
       {Q4_0,  Q4_1,    Q5_0,  Q5_1,  Q8_0,  Q2_K,   Q3_K,   Q4_K,  Q5_K,  Q6_K, Q8_K, IQ2_XXS, IQ2_XS,
        IQ2_S, IQ3_XXS, IQ3_S, IQ1_S, IQ1_M, IQ4_NL, IQ4_XS, TQ1_0, TQ2_0, Q1_0, Q2_0, MXFP4}) {
    const TypeInfo& info = type_info(type);
    Buffer bytes(info.block_bytes * 2000u);
    for (u8& byte : bytes) byte = static_cast<u8>(random());
    if (type == MXFP4) {
      for (std::size_t at = 0; at < bytes.size(); at += info.block_bytes)
        bytes[at] = static_cast<u8>(250 + random() % 5);
    }
    u64 want = 0;
    for (std::size_t at = 0; at < bytes.size(); at += info.block_bytes) {
      const auto block = std::span(bytes).subspan(at, info.block_bytes);
      std::vector<float> values(info.block_elements);
      dequantize(type, std::as_bytes(block), values);
      bool bad = false;
      for (float value : values) bad = bad || !std::isfinite(value);
      want += bad ? 1 : 0;
      ASSERT_EQ(check(type, block).bad_blocks, bad ? 1u : 0u) << info.name;
    }
    EXPECT_EQ(check(type, bytes).bad_blocks, want) << info.name;
    EXPECT_GT(want, 0u) << info.name;
  }
}

TEST(BlockCheck, Mxfp4OverflowsOnlyWithLargeCodes) {
  for (u32 exponent : {252u, 253u, 254u}) {
    for (u32 code = 0; code < 16; ++code) {
      Buffer block(17, 0);
      block[0] = static_cast<u8>(exponent);
      block[16] = static_cast<u8>(code << 4);
      const u32 magnitude = code & 7;
      const bool bad = (exponent == 253 && magnitude >= 6) || (exponent == 254 && magnitude >= 4);
      const BlockCheck got = check(MXFP4, block);
      ASSERT_EQ(got.bad_blocks, bad ? 1u : 0u) << exponent << " " << code;
      if (bad) {
        EXPECT_EQ(got.first->what, "overflows to Inf");
      }
    }
  }
}

TEST(BlockCheck, Q8KOverflowsByItsLargestCode) {
  Buffer block(292, 0);
  const auto with = [&](float d, int code) {
    std::memcpy(block.data(), &d, 4);
    block[100] = static_cast<u8>(code);
    return check(Q8_K, block);
  };
  EXPECT_EQ(with(0x1p120f, 127).bad_blocks, 0u);
  EXPECT_EQ(with(0x1p121f, 127).bad_blocks, 0u);
  EXPECT_EQ(with(0x1p121f, -128).bad_blocks, 1u);
  EXPECT_EQ(with(-0x1p127f, 1).bad_blocks, 0u);
  EXPECT_EQ(with(-0x1p127f, 2).bad_blocks, 1u);
  EXPECT_EQ(with(-0x1p127f, 2).first->what, "overflows to Inf");
  EXPECT_EQ(with(-0x1p127f, 0).bad_blocks, 0u);
}

TEST(BlockCheck, CountsAllAndNamesTheFirstOfManyPieces) {
  Buffer bytes(2 * 1'000'003, 0);
  for (std::size_t element : {77'777u, 77'778u, 500'000u, 1'000'002u}) put(bytes, 2 * element, 0x7E00, 2);
  const BlockCheck got = check(F16, bytes);
  EXPECT_EQ(got.bad_blocks, 4u);
  EXPECT_EQ(got.first->block, 77'777u);
  EXPECT_EQ(check(F16, {}).bad_blocks, 0u);
}

TEST(BlockCheck, TypesWithNothingToCheck) {
  const std::set<TensorType> unchecked = {I8, I16, I32, I64, U8, U16, U32, U64, F4, F6_E2M3, F6_E3M2};
  for (const TypeInfo& info : all_types()) {
    EXPECT_EQ(has_block_check(info.type), !unchecked.contains(info.type)) << info.name;
  }
  const Buffer ones(48, 0xFF);
  for (TensorType type : unchecked) EXPECT_EQ(check(type, ones).bad_blocks, 0u);
}

TEST(OnlyZeros, LooksAtValuesNotAtBytes) {
  std::vector<std::byte> bytes(18 * 300);
  EXPECT_TRUE(holds_only_zeros(TensorType::Q4_0, bytes));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (i % 18 >= 2) bytes[i] = std::byte{0x88};  // codes for a scale of 0, as ggml's encoder writes them
  }
  EXPECT_TRUE(holds_only_zeros(TensorType::Q4_0, bytes));
  bytes[18 * 299 + 1] = std::byte{0x3c};  // d = 1 in the last block, whose codes 8 mean 0
  EXPECT_TRUE(holds_only_zeros(TensorType::Q4_0, bytes));
  bytes[18 * 299 + 17] = std::byte{0x89};
  EXPECT_FALSE(holds_only_zeros(TensorType::Q4_0, bytes));
}

TEST(OnlyZeros, MinusZeroIsZeroAndNanIsNot) {
  std::vector<std::byte> bytes(4 * 2000);
  bytes[7] = std::byte{0x80};
  EXPECT_TRUE(holds_only_zeros(TensorType::F32, bytes));
  bytes[7] = std::byte{0x7f};
  bytes[6] = std::byte{0xc0};
  EXPECT_FALSE(holds_only_zeros(TensorType::F32, bytes));
  EXPECT_TRUE(holds_only_zeros(TensorType::F16, Bytes(bytes).subspan(8)));
  EXPECT_FALSE(holds_only_zeros(TensorType::C64, Bytes(bytes).subspan(8)));  // no decoder
}

}  // namespace

}  // namespace modelutils

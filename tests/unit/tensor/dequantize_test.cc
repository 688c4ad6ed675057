#include "tensor/dequantize.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <limits>
#include <random>
#include <vector>

#include "support/temp_dir.h"
#include "tensor/half.h"
#include "tensor/types.h"

namespace modelutils {
namespace {

std::vector<float> decode(TensorType type, std::span<const u8> bytes, std::size_t elements,
                          Instructions instructions = best_instructions()) {
  std::vector<float> out(elements, 12345.0f);
  dequantize(type, std::as_bytes(bytes), out, instructions);
  return out;
}

bool same_bits(float a, float b) {
  if (std::isnan(a) && std::isnan(b)) return true;  // payloads of computed NaNs differ between machines
  return std::bit_cast<u32>(a) == std::bit_cast<u32>(b);
}

// Every file in tests/data/dequant, at every address modulo 16, with portable and with this machine's instructions.
TEST(Dequantize, GoldenValuesBitForBit) {
  const std::string folder = test::data_dir() + "/dequant/";
  int types = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".blocks") continue;
    const std::string name = entry.path().stem().string();
    SCOPED_TRACE(name);
    const auto type = type_from_name(name);
    ASSERT_TRUE(type);
    ASSERT_TRUE(has_decoder(*type));
    const std::string blocks = test::read_file(entry.path().string());
    const std::string golden = test::read_file(folder + name + ".f32");
    std::vector<float> want(golden.size() / 4);
    std::memcpy(want.data(), golden.data(), golden.size());
    ASSERT_EQ(row_bytes(*type, want.size()), blocks.size());
    for (std::size_t shift = 0; shift < 16; ++shift) {
      std::vector<u8> moved(blocks.size() + shift);
      std::memcpy(moved.data() + shift, blocks.data(), blocks.size());
      for (const Instructions instructions : {Instructions::any_machine, best_instructions()}) {
        const std::vector<float> got = decode(*type, std::span(moved).subspan(shift), want.size(), instructions);
        for (std::size_t i = 0; i < want.size(); ++i) ASSERT_TRUE(same_bits(got[i], want[i])) << i << " " << got[i];
      }
    }
    ++types;
  }
  EXPECT_EQ(types, 27);
}

// Random blocks of every type, including integers and small floats.
TEST(Dequantize, TheSameOnEveryMachine) {
  std::mt19937 random(9);
  for (const TypeInfo& info : all_types()) {
    if (!has_decoder(info.type)) continue;
    SCOPED_TRACE(info.name);
    const std::size_t blocks = 67;
    std::vector<u8> bytes(blocks * info.block_bytes);
    for (u8& byte : bytes) byte = static_cast<u8>(random());
    const std::vector<float> plain = decode(info.type, bytes, blocks * info.block_elements, Instructions::any_machine);
    const std::vector<float> fast = decode(info.type, bytes, blocks * info.block_elements);
    for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_TRUE(same_bits(plain[i], fast[i])) << i;
  }
}

TEST(Dequantize, EveryTypeButC64HasADecoder) {
  for (const TypeInfo& info : all_types()) {
    EXPECT_EQ(has_decoder(info.type), info.type != TensorType::C64) << info.name;
    if (!has_decoder(info.type)) continue;
    // Reads the right number of bytes and writes the right number of values (sanitizers detect accesses beyond).
    std::vector<u8> bytes(3 * info.block_bytes, 0);
    const std::vector<float> got = decode(info.type, bytes, 3 * info.block_elements);
    for (float value : got) EXPECT_NE(value, 12345.0f) << info.name;
  }
}

TEST(Dequantize, Numbers) {
  const u8 bytes[] = {0, 0x80, 0xFF, 0x7F, 1, 0, 0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
  using Values = std::vector<float>;
  EXPECT_EQ(decode(TensorType::I8, bytes, 4), (Values{0, -128, -1, 127}));
  EXPECT_EQ(decode(TensorType::U8, bytes, 4), (Values{0, 128, 255, 127}));
  EXPECT_EQ(decode(TensorType::BOOL, bytes, 5), (Values{0, 128, 255, 127, 1}));
  EXPECT_EQ(decode(TensorType::I16, bytes, 4), (Values{-32768, 32767, 1, -2}));
  EXPECT_EQ(decode(TensorType::U16, bytes, 4), (Values{32768, 32767, 1, 65534}));
  EXPECT_EQ(decode(TensorType::I32, bytes, 2), (Values{2147450880.0f, -131071}));
  EXPECT_EQ(decode(TensorType::U32, std::span(bytes).subspan(8), 1), Values{4294967296.0f});
  EXPECT_EQ(decode(TensorType::I64, std::span(bytes).subspan(8), 1), Values{-1});
  EXPECT_EQ(decode(TensorType::U64, std::span(bytes).subspan(8), 1), Values{18446744073709551616.0f});
  const double numbers[] = {1.0 / 3, 1e300, -1e-300};
  const Values got = decode(TensorType::F64, std::span(reinterpret_cast<const u8*>(numbers), 24), 3);
  EXPECT_EQ(got[0], 1.0f / 3);
  EXPECT_EQ(got[1], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(got[2] == 0 && std::signbit(got[2]));
}

TEST(Dequantize, SmallFloats) {
  using Values = std::vector<float>;
  EXPECT_EQ(decode(TensorType::F4, std::vector<u8>{0x21, 0x7F}, 4), (Values{0.5f, 1, -6, 6}));
  // 1, 2, 3, 33 as 6-bit codes: 000001 000010 000011 100001, least significant bit first.
  const u32 stream = 1 | 2 << 6 | 3 << 12 | 33 << 18;
  const std::vector<u8> six = {stream & 255, stream >> 8 & 255, stream >> 16};
  EXPECT_EQ(decode(TensorType::F6_E2M3, six, 4), (Values{0.125f, 0.25f, 0.375f, -0.125f}));
  EXPECT_EQ(decode(TensorType::F6_E3M2, six, 4), (Values{0.0625f, 0.125f, 0.1875f, -0.0625f}));
  EXPECT_EQ(decode(TensorType::F8_E4M3, std::vector<u8>{0x38, 0xFE}, 2), (Values{1, -448}));
  EXPECT_EQ(decode(TensorType::F8_E5M2, std::vector<u8>{0x3C, 0x7C}, 2),
            (Values{1, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(decode(TensorType::F8_E4M3FNUZ, std::vector<u8>{0x40}, 1), Values{1});
  EXPECT_EQ(decode(TensorType::F8_E5M2FNUZ, std::vector<u8>{0x40}, 1), Values{1});
  EXPECT_EQ(decode(TensorType::F8_E8M0, std::vector<u8>{127, 0, 254}, 3), (Values{1, 0x1p-127f, 0x1p127f}));
}

// The branch-free loop equals the scalar conversion for every code.
TEST(Dequantize, EveryF16) {
  std::vector<u16> codes(65536);
  for (u32 code = 0; code < 65536; ++code) codes[code] = static_cast<u16>(code);
  std::vector<float> values(65536);
  dequantize(TensorType::F16, std::as_bytes(std::span(codes)), values);
  for (u32 code = 0; code < 65536; ++code) {
    ASSERT_EQ(std::bit_cast<u32>(values[code]), std::bit_cast<u32>(f16_to_f32(codes[code]))) << code;
  }
}

TEST(Dequantize, Q8KRoundsItsOneProduct) {
  std::vector<u8> block(292, 0);
  const float d = 0.1f;
  std::memcpy(block.data(), &d, 4);
  for (u32 i = 0; i < 256; ++i) block[4 + i] = static_cast<u8>(i);
  const std::vector<float> got = decode(TensorType::Q8_K, block, 256);
  for (u32 i = 0; i < 256; ++i) EXPECT_EQ(got[i], d * static_cast<float>(static_cast<i8>(i)));
}

TEST(Dequantize, Q81LeavesItsSumAlone) {
  std::vector<u8> block(36, 0);
  block[1] = 0x40;  // d = 2
  block[2] = 0xFF;  // s = NaN
  block[3] = 0x7F;
  block[4] = 0x80;
  block[35] = 0x7F;
  const std::vector<float> got = decode(TensorType::Q8_1, block, 32);
  EXPECT_EQ(got[0], -256);
  EXPECT_EQ(got[1], 0);
  EXPECT_EQ(got[31], 254);
}

TEST(Dequantize, ScalesThatTheGoldenFilesLack) {
  std::vector<u8> mxfp4(17, 0x7A);  // code 10 = −2 (integer) in the low nibble, 7 = 12 in the high one
  mxfp4[0] = 255;
  EXPECT_EQ(decode(TensorType::MXFP4, mxfp4, 32)[0], -std::numeric_limits<float>::infinity());
  mxfp4[0] = 0;
  EXPECT_EQ(decode(TensorType::MXFP4, mxfp4, 32)[0], -0x1p-127f);
  EXPECT_EQ(decode(TensorType::MXFP4, mxfp4, 32)[31], 12 * 0x1p-128f);
  std::vector<u8> nvfp4(36, 0x11);
  nvfp4[0] = 0x7F;
  nvfp4[1] = 0xFF;
  const std::vector<float> values = decode(TensorType::NVFP4, nvfp4, 64);
  EXPECT_EQ(values[0], 0);
  EXPECT_EQ(values[16], 240);
}

}  // namespace
}  // namespace modelutils

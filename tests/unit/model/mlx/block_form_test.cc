#include "model/mlx/block_form.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "formats/gguf/split_set.h"
#include "io/hash.h"
#include "json/reader.h"
#include "model/catalog.h"
#include "model/mlx/quantization.h"
#include "support/temp_dir.h"
#include "tensor/dequantize.h"
#include "tensor/half.h"

namespace modelutils::mlx {
namespace {

std::vector<TensorType> types_with_form() {
  std::vector<TensorType> types;
  for (const TypeInfo& info : all_types()) {
    if (exact_params(info.type)) types.push_back(info.type);
  }
  return types;
}

// Offsets of the f16 scales in a block.
std::vector<u32> halves_of(TensorType type) {
  switch (type) {
    case TensorType::Q4_1:
    case TensorType::Q5_1:
    case TensorType::Q4_K:
    case TensorType::Q5_K: return {0, 2};
    case TensorType::Q3_K: return {108};
    case TensorType::TQ1_0: return {52};
    case TensorType::TQ2_0: return {64};
    case TensorType::IQ1_M:
    case TensorType::MXFP4:
    case TensorType::NVFP4: return {};
    default: return {0};
  }
}

// Random blocks with finite scales; the first ones have scales at the limits of f16.
std::vector<std::byte> random_blocks(TensorType type, std::size_t count) {
  static constexpr u16 edges[] = {0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x7BFF, 0xFBFF, 0x6FFF};
  std::mt19937 random(static_cast<u32>(type));
  const u32 size = type_info(type).block_bytes;
  std::vector<std::byte> bytes(count * size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  for (std::size_t b = 0; b < count; ++b) {
    std::byte* block = bytes.data() + b * size;
    const auto number = [&]() -> u16 {
      if (b < std::size(edges)) return edges[b];
      const u16 bits = static_cast<u16>(random());
      return (bits & 0x7C00) == 0x7C00 ? static_cast<u16>(bits ^ 0x4000) : bits;
    };
    for (const u32 at : halves_of(type)) {
      const u16 half = number();
      std::memcpy(block + at, &half, 2);
    }
    if (type == TensorType::IQ1_M) {  // d is spread over the top four bits of four words
      const u16 d = number();
      for (u32 word = 0; word < 4; ++word) {
        block[49 + 2 * word] =
            (block[49 + 2 * word] & std::byte{0x0F}) | static_cast<std::byte>((d >> (4 * word) & 15) << 4);
      }
    }
    if (type == TensorType::MXFP4 && block[0] == std::byte{0xFF}) block[0] = std::byte{0};
    for (u32 part = 0; type == TensorType::NVFP4 && part < 4; ++part) {
      block[part] &= std::byte{0x7F};
      if (block[part] == std::byte{0x7F}) block[part] = std::byte{0};
    }
  }
  return bytes;
}

struct Packed {
  Params params;
  std::vector<std::byte> words;
  std::vector<float> scales, biases;
  std::vector<u8> scale_bytes;
};

Packed packed(TensorType type, Bytes blocks) {
  const TypeInfo& info = type_info(type);
  Packed out{*exact_params(type), {}, {}, {}, {}};
  std::vector<u8> codes(blocks.size() / info.block_bytes * info.block_elements);
  take_codes(type, blocks, codes);
  out.words.resize(codes.size() / 8 * out.params.bits);
  pack_codes(out.params.bits, codes, out.words);
  const std::size_t groups = codes.size() / out.params.group_size;
  if (out.params.mode == Mode::affine) {
    out.scales.resize(groups);
    out.biases.resize(groups);
    take_scales(type, blocks, out.scales, out.biases);
  } else {
    out.scale_bytes.resize(groups);
    take_scale_bytes(type, blocks, out.scale_bytes);
  }
  return out;
}

std::vector<float> unpacked(const Packed& form) {
  std::vector<float> values(form.words.size() * 8 / form.params.bits);
  const bool is_affine = form.params.mode == Mode::affine;
  dequantize(form.params,
             {form.words, is_affine ? TensorType::F32 : TensorType::U8,
              is_affine ? std::as_bytes(std::span(form.scales)) : std::as_bytes(std::span(form.scale_bytes)),
              TensorType::F32, std::as_bytes(std::span(form.biases))},
             values);
  return values;
}

TEST(BlockForm, HoldsEveryValueOfRandomBlocks) {
  for (const TensorType type : types_with_form()) {
    const std::vector<std::byte> blocks = random_blocks(type, 3000);
    std::vector<float> wanted(3000 * type_info(type).block_elements);
    dequantize(type, blocks, wanted);
    const std::vector<float> found = unpacked(packed(type, blocks));
    ASSERT_EQ(found.size(), wanted.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(found[i], wanted[i]) << type_name(type) << " " << i;  // -0 equals +0
    }
  }
}

TEST(BlockForm, KnowsTheTypesOfTheTable) {
  EXPECT_EQ(types_with_form().size(), 21u);
  for (const TensorType type : {TensorType::Q2_K, TensorType::Q6_K, TensorType::IQ2_XS, TensorType::IQ2_S,
                                TensorType::Q8_1, TensorType::Q8_K, TensorType::F16, TensorType::I8}) {
    EXPECT_FALSE(exact_params(type)) << type_name(type);
    EXPECT_EQ(codes_of(type), nullptr) << type_name(type);
  }
  for (const TensorType type : types_with_form()) {
    ASSERT_NE(codes_of(type), nullptr) << type_name(type);
    const Params params = *exact_params(type);
    EXPECT_FALSE(params_problem(params.mode, params.bits, params.group_size)) << type_name(type);
  }
}

TEST(BlockForm, CountsScaleBytesThatMlxReadsInAnotherWay) {
  const std::vector<u8> bytes = {0, 1, 0x7E, 0x7F, 0x80, 0xFE, 0xFF};
  EXPECT_EQ(foreign_scale_bytes(TensorType::MXFP4, bytes), 1u);
  EXPECT_EQ(foreign_scale_bytes(TensorType::NVFP4, bytes), 4u);
}

TEST(PackCodes, IsTheReverseOfUnpacking) {
  std::mt19937 random(7);
  for (u32 bits = 2; bits <= 8; ++bits) {
    std::vector<u8> codes(8 * 37);
    for (u8& code : codes) code = static_cast<u8>(random() & ((1u << bits) - 1));
    std::vector<std::byte> stream(codes.size() / 8 * bits);
    pack_codes(bits, codes, stream);
    for (std::size_t i = 0; i < codes.size(); ++i) {  // a naive version of the packing rule
      u32 code = 0;
      for (u32 b = 0; b < bits; ++b) {
        const std::size_t k = i * bits + b;
        code |= (std::to_integer<u32>(stream[k / 8]) >> (k % 8) & 1u) << b;
      }
      ASSERT_EQ(code, codes[i]) << bits << " " << i;
    }
  }
}

TEST(TakePacked, IsTakingAndPacking) {
  for (const TensorType type : types_with_form()) {
    const std::vector<std::byte> blocks = random_blocks(type, 300);
    const u32 bits = exact_params(type)->bits;
    const Packed wanted = packed(type, blocks);
    std::vector<std::byte> found(wanted.words.size() + 1, std::byte{0xEE});
    take_packed(type, bits, blocks, MutableBytes(found).first(wanted.words.size()));
    EXPECT_EQ(std::memcmp(found.data(), wanted.words.data(), wanted.words.size()), 0) << type_name(type);
    EXPECT_EQ(found.back(), std::byte{0xEE}) << type_name(type);
  }
}

TEST(TakePacked, DropsBitsThatNoCodeUses) {
  std::vector<std::byte> blocks = random_blocks(TensorType::Q4_1, 300);
  for (std::size_t at = 0; at < blocks.size(); at += 20) {
    for (std::size_t i = 4; i < 20; ++i) blocks[at + i] &= std::byte{0x77};
  }
  std::vector<u8> codes(300 * 32);
  take_codes(TensorType::Q4_1, blocks, codes);
  std::vector<std::byte> wanted(codes.size() / 8 * 3);
  pack_codes(3, codes, wanted);
  std::vector<std::byte> found(wanted.size());
  take_packed(TensorType::Q4_1, 3, blocks, found);
  EXPECT_EQ(found, wanted);
}

// Scales of blocks that form one group are read many at a time; compares with reading one at a time, including
// infinities and NaN.
TEST(TakeScales, DoesNotDependOnTheInstructions) {
  struct Case {
    TensorType type;
    float scale, bias;
    u32 bias_at;
  };
  const Case cases[] = {{TensorType::Q4_0, 1, -8, 0},     {TensorType::Q5_0, 1, -16, 0}, {TensorType::Q8_0, 1, -128, 0},
                        {TensorType::IQ4_NL, 1, -128, 0}, {TensorType::Q4_1, 1, 1, 2},   {TensorType::Q5_1, 1, 1, 2},
                        {TensorType::Q1_0, 2, -1, 0},     {TensorType::Q2_0, 1, -1, 0}};
  for (const Case& one : cases) {
    const u32 size = type_info(one.type).block_bytes;
    for (const bool has_others : {false, true}) {
      std::vector<std::byte> blocks = random_blocks(one.type, 1003);
      const u16 others[] = {0x7C00, 0xFC00, 0x7C01, 0xFE00};
      for (std::size_t i = 0; has_others && i < std::size(others); ++i) {
        std::memcpy(blocks.data() + (7 + 300 * i) * size % blocks.size() / size * size, &others[i], 2);
      }
      for (const Instructions instructions : {Instructions::any_machine, best_instructions()}) {
        std::vector<float> scales(1003), biases(1003);
        take_scales(one.type, blocks, scales, biases, instructions);
        for (std::size_t b = 0; b < scales.size(); ++b) {
          u16 half = 0, offset = 0;
          std::memcpy(&half, blocks.data() + b * size, 2);
          std::memcpy(&offset, blocks.data() + b * size + one.bias_at, 2);
          const float scale = f16_to_f32(half) * one.scale, bias = f16_to_f32(offset) * one.bias;
          ASSERT_EQ(std::memcmp(&scales[b], &scale, 4), 0) << type_name(one.type) << " " << b;
          ASSERT_EQ(std::memcmp(&biases[b], &bias, 4), 0) << type_name(one.type) << " " << b;
        }
      }
    }
  }
}

std::string sha256(Bytes bytes) {
  Hasher hasher(HashAlgorithm::sha256);
  hasher.update(bytes);
  return hasher.hex_digest();
}

// Reference results from another implementation.
TEST(BlockForm, GivesTheWordsScalesAndBiasesOfTheCorpus) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  const std::string folder = test::shared_dir() + "/corpus/gguf2mlx/";
  const auto index = json::load(folder + "index.json");
  ASSERT_TRUE(index) << index.error().message;
  json::Object entries;
  ASSERT_TRUE((*index)->root.get(entries));
  std::size_t compared = 0;
  for (const auto& [name, element] : entries) {
    const json::Element entry = element;
    const auto text = [&](std::string_view member) {
      return std::string(json::string_member(entry, member).value_or(""));
    };
    const auto set = gguf::open_set(folder + text("file"));
    ASSERT_TRUE(set) << name;
    const Catalog catalog = catalog_of(*set);
    ASSERT_EQ(catalog.tensors.size(), 1u);
    const Tensor& tensor = catalog.tensors.front();
    const std::optional<Params> params = exact_params(*tensor.type);
    const bool has_form = !text("weight_sha256").empty();
    EXPECT_EQ(params.has_value(), has_form) << name;
    if (!params || !has_form) continue;
    std::vector<std::byte> blocks(tensor.bytes);
    ASSERT_TRUE(catalog.files[0].source->read_exact(tensor.offset, blocks));
    const Packed form = packed(*tensor.type, blocks);
    EXPECT_EQ(text("mode"), mode_name(params->mode)) << name;
    EXPECT_EQ(json::u64_member(entry, "bits"), params->bits) << name;
    EXPECT_EQ(json::u64_member(entry, "group_size"), params->group_size) << name;
    EXPECT_EQ(text("weight_sha256"), sha256(form.words)) << name;
    if (params->mode == Mode::affine) {
      EXPECT_EQ(text("scales_f32_sha256"), sha256(std::as_bytes(std::span(form.scales)))) << name;
      EXPECT_EQ(text("biases_f32_sha256"), sha256(std::as_bytes(std::span(form.biases)))) << name;
    } else {
      EXPECT_EQ(text("scales_u8_sha256"), sha256(std::as_bytes(std::span(form.scale_bytes)))) << name;
    }
    ++compared;
  }
  EXPECT_GE(compared, 21u);
}

}  // namespace
}  // namespace modelutils::mlx

#include "tensor/types.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace modelutils {

namespace {

TEST(Types, TableIsOrderedAndComplete) {
  EXPECT_EQ(all_types().size(), 49u);
  std::set<std::string_view> names;
  for (const TypeInfo& info : all_types()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_EQ(&type_info(info.type), &info);
    EXPECT_EQ(type_name(info.type), info.name);
    EXPECT_EQ(type_from_name(info.name), info.type);
    EXPECT_TRUE(info.in_gguf || info.in_safetensors) << info.name;
    EXPECT_EQ(info.in_gguf, static_cast<u32>(info.type) < 0x100) << info.name;
    EXPECT_EQ(info.is_quantized, info.in_gguf && info.block_elements > 1) << info.name;
  }
}

TEST(Types, GgufIds) {
  std::set<u32> known;
  for (u32 id = 0; id < 1000; ++id) {
    if (const auto type = type_from_gguf(id)) {
      EXPECT_EQ(static_cast<u32>(*type), id);
      known.insert(id);
    }
  }
  EXPECT_EQ(known.size(), 35u);
  for (u32 removed : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 43u, 64u, 97u, 0x100u, 0xFFFFFFFFu}) {
    EXPECT_FALSE(type_from_gguf(removed)) << removed;
  }
  EXPECT_EQ(type_from_gguf(30), TensorType::BF16);
  EXPECT_EQ(type_from_gguf(24), TensorType::I8);
}

TEST(Types, SafetensorsNames) {
  for (std::string_view both : {"I8", "I16", "I32", "I64", "F64", "F32", "F16", "BF16"}) {
    const auto type = type_from_safetensors(both);
    ASSERT_TRUE(type) << both;
    EXPECT_TRUE(type_info(*type).in_gguf) << both;
  }
  EXPECT_EQ(type_from_safetensors("F8_E4M3FNUZ"), TensorType::F8_E4M3FNUZ);
  EXPECT_EQ(type_from_safetensors("C64"), TensorType::C64);
  for (std::string_view no : {"Q4_0", "f32", "F32 ", "", "FLOAT", "MXFP4"})
    EXPECT_FALSE(type_from_safetensors(no)) << no;
  int count = 0;
  for (const TypeInfo& info : all_types()) count += info.in_safetensors ? 1 : 0;
  EXPECT_EQ(count, 22);
}

TEST(Types, NamesIgnoreCase) {
  EXPECT_EQ(type_from_name("q4_k"), TensorType::Q4_K);
  EXPECT_EQ(type_from_name("iq2_XXS"), TensorType::IQ2_XXS);
  EXPECT_EQ(type_from_name("f8_e8m0"), TensorType::F8_E8M0);
  EXPECT_FALSE(type_from_name("Q4"));
  EXPECT_FALSE(type_from_name(""));
}

TEST(Types, RowBytes) {
  EXPECT_EQ(row_bytes(TensorType::Q4_0, 64), 36u);
  EXPECT_EQ(row_bytes(TensorType::Q6_K, 256), 210u);
  EXPECT_EQ(row_bytes(TensorType::Q6_K, 0), 0u);
  EXPECT_FALSE(row_bytes(TensorType::Q6_K, 255));
  EXPECT_FALSE(row_bytes(TensorType::NVFP4, 32));
  EXPECT_EQ(row_bytes(TensorType::F32, 3), 12u);
  EXPECT_FALSE(row_bytes(TensorType::F64, u64{1} << 61));
  EXPECT_FALSE(row_bytes(TensorType::F64, u64{1} << 60)) << "does not fit into 63 bits";
  EXPECT_EQ(row_bytes(TensorType::F64, (u64{1} << 60) - 1), (u64{1} << 63) - 8);
  EXPECT_EQ(row_bytes(TensorType::I8, u64{INT64_MAX}), u64{INT64_MAX});
  EXPECT_FALSE(row_bytes(TensorType::I8, u64{1} << 63));
}

TEST(Types, PackedBytesOfPartsOfBytes) {
  EXPECT_EQ(packed_bytes(TensorType::F4, 6), 3u);
  EXPECT_FALSE(packed_bytes(TensorType::F4, 5));
  EXPECT_EQ(packed_bytes(TensorType::F6_E2M3, 8), 6u);
  EXPECT_FALSE(packed_bytes(TensorType::F6_E3M2, 6));
  EXPECT_EQ(packed_bytes(TensorType::C64, 2), 16u);
  EXPECT_EQ(packed_bytes(TensorType::BOOL, 3), 3u);
  EXPECT_FALSE(packed_bytes(TensorType::U64, ~u64{0}));
}

using Dims = std::vector<u64>;

TEST(Shape, ElementCount) {
  EXPECT_EQ(element_count(Dims{}), 1u);
  EXPECT_EQ(element_count(Dims{3, 4, 5}), 60u);
  EXPECT_EQ(element_count(Dims{3, 0}), 0u);
  EXPECT_FALSE(element_count(Dims{u64{1} << 32, u64{1} << 32}));
  EXPECT_FALSE(element_count(Dims{u64{1} << 32, u64{1} << 32, 0})) << "an overflow counts even if a 0 follows";
}

TEST(Shape, TensorBytes) {
  EXPECT_EQ(tensor_bytes(TensorType::F32, Dims{}), 4u);
  EXPECT_EQ(tensor_bytes(TensorType::Q4_K, Dims{512, 3}), 864u);
  EXPECT_EQ(tensor_bytes(TensorType::Q4_K, Dims{0, 3}), 0u);
  EXPECT_FALSE(tensor_bytes(TensorType::Q4_K, Dims{}));
  EXPECT_FALSE(tensor_bytes(TensorType::Q4_K, Dims{128, 2})) << "a row holds whole blocks";
  EXPECT_FALSE(tensor_bytes(TensorType::F32, Dims{u64{1} << 32, u64{1} << 32}));
  EXPECT_FALSE(tensor_bytes(TensorType::I8, Dims{u64{1} << 62, 2}));
  EXPECT_FALSE(tensor_bytes(TensorType::Q1_0, Dims{u64{1} << 62, 4})) << "the bytes would fit, the elements do not";
  EXPECT_FALSE(tensor_bytes(TensorType::Q8_0, Dims{u64{1} << 60, 16})) << "bytes overflow first";
}

TEST(Shape, TrailingOnesAreNoDifference) {
  EXPECT_TRUE(is_same_shape(Dims{4, 3}, Dims{4, 3, 1, 1}));
  EXPECT_TRUE(is_same_shape(Dims{1}, Dims{}));
  EXPECT_FALSE(is_same_shape(Dims{4, 3}, Dims{4, 3, 2}));
  EXPECT_FALSE(is_same_shape(Dims{4, 0}, Dims{4}));
  EXPECT_FALSE(is_same_shape(Dims{4, 3}, Dims{3, 4}));
}

TEST(Shape, Text) {
  EXPECT_EQ(reversed(Dims{1, 2, 3}), (Dims{3, 2, 1}));
  EXPECT_EQ(shape_text(Dims{4096, 32000}), "4096 × 32000");
  EXPECT_EQ(shape_text(Dims{7}), "7");
  EXPECT_EQ(shape_text(Dims{}), "");
}

}  // namespace

}  // namespace modelutils

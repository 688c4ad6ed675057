#include "formats/gguf/foreign_types.h"

#include <gtest/gtest.h>

#include "formats/gguf/parse.h"
#include "support/gguf_builder.h"

namespace modelutils::gguf {

namespace {

using test::GgufBuilder;

// A type in a file of its own, between two F32 tensors. The sizes are computed by hand from docs/formats/forks.md.
struct ForkCase {
  u32 id;
  std::vector<u64> ne;
  u64 bytes;
  std::string_view text;
};

const ForkCase fork_cases[] = {
    // ik_llama.cpp: rows × (bytes per row + blocks × bytes).
    {133, {64, 3}, 3 * 52, "Q6_0 (ik_llama.cpp)"},
    {134, {128, 3}, 3 * (2 + 26), "IQ1_BN (ik_llama.cpp)"},
    {135, {128, 3}, 3 * (4 + 32), "IQ2_BN (ik_llama.cpp)"},
    {137, {512, 3}, 3 * 152, "IQ2_K (ik_llama.cpp)"},
    {138, {512, 3}, 3 * 220, "IQ3_K (ik_llama.cpp)"},
    {139, {512, 3}, 3 * 288, "IQ4_K (ik_llama.cpp)"},
    {140, {512, 3}, 3 * 352, "IQ5_K (ik_llama.cpp)"},
    {141, {512, 3}, 3 * 424, "IQ6_K (ik_llama.cpp)"},
    {144, {512, 3}, 828, "IQ4_KS (ik_llama.cpp)"},
    {145, {512, 3}, 426, "IQ2_KS (ik_llama.cpp)"},
    {146, {512, 3}, 780, "IQ4_KSS (ik_llama.cpp)"},
    {152, {512, 3}, 1020, "IQ5_KS (ik_llama.cpp)"},
    {153, {512, 3}, 420, "IQ2_KT (ik_llama.cpp)"},
    {154, {512, 3}, 612, "IQ3_KT (ik_llama.cpp)"},
    {155, {512, 3}, 780, "IQ4_KT (ik_llama.cpp)"},
    {156, {512, 3}, 618, "IQ3_KS (ik_llama.cpp)"},
    {157, {512, 3}, 522, "IQ2_KL (ik_llama.cpp)"},
    {158, {512, 3}, 348, "IQ1_KT (ik_llama.cpp)"},
    {202, {64, 8}, 8 * 36, "Q4_0_R8 (ik_llama.cpp)"},
    {206, {64, 4}, 4 * 44, "Q5_0_R4 (ik_llama.cpp)"},
    {208, {64, 8}, 8 * 68, "Q8_0_R8 (ik_llama.cpp)"},
    {212, {256, 4}, 4 * 144, "Q4_K_R4 (ik_llama.cpp)"},
    {219, {256, 4}, 4 * (2 + 48), "IQ1_S_R4 (ik_llama.cpp)"},
    {223, {256, 8}, 8 * 136, "IQ4_XS_R8 (ik_llama.cpp)"},
    {229, {256, 4}, 4 * (2 + 56), "IQ1_M_R4 (ik_llama.cpp)"},
    {230, {256, 16}, 16 * 512, "BF16_R16 (ik_llama.cpp)"},
    {335, {128, 4}, 4 * (4 + 32), "IQ2_BN_R4 (ik_llama.cpp)"},
    {344, {512, 4}, 4 * (4 + 272), "IQ4_KS_R4 (ik_llama.cpp)"},
    {399, {256, 8}, 8 * 258, "Q8_K_R8 (ik_llama.cpp)"},
    {142, {512, 16}, 2112, "IQ2_TN (ik_llama.cpp until October 2024)"},
    {143, {512, 16}, 1728, "IQ1_TN (ik_llama.cpp until October 2024)"},
    {142, {512, 16}, 2176, "PQ2_0 (PrismML's llama.cpp)"},
    {143, {512, 16}, 1792, "PTQ1_0 (PrismML's llama.cpp)"},
    {42, {512, 3}, 408, "Q2_0 in blocks of 128 (PrismML's llama.cpp before July 2026)"},
    {100, {64, 3}, 108, "Q4_0_ROCMFP4 (ROCmFPX)"},
    {101, {64, 3}, 102, "Q4_0_ROCMFP4_FAST (ROCmFPX)"},
    {102, {64, 3}, 156, "Q6_0_ROCMFPX (ROCmFPX)"},
    {103, {64, 3}, 198, "Q8_0_ROCMFPX (ROCmFPX)"},
    {104, {64, 3}, 84, "Q3_0_ROCMFPX (ROCmFPX)"},
    {107, {64, 3}, 60, "Q2_0_ROCMFPX (ROCmFPX)"},
    {108, {64, 3}, 102, "Q4_0_ROCMI4 (ROCmFPX)"},
    {110, {256, 3}, 720, "Q7_0_ROCMFPX (ROCmFPX)"},
    {47, {64, 3}, 120, "TQ4_1S (TurboQuant)"},
    {46, {64, 3}, 120, "TQ4_1S (TurboQuant tqp-v0.1)"},
    {46, {64, 3}, 96, "TQ3_1S (TurboQuant) or TQ3_4S (llama.cpp-tq3)"},
    {45, {64, 3}, 96, "TQ3_1S (TurboQuant tqp-v0.1)"},
    {44, {64, 3}, 96, "TQ3_1S (llama.cpp-tq3)"},
    {36, {64, 3}, 48 + 32, "I2_S (BitNet)"},
    {31, {64, 3}, 108, "Q4_0_4_4 (removed from ggml)"},
    {32, {64, 3}, 108, "Q4_0_4_8 (removed from ggml)"},
    {33, {64, 3}, 108, "Q4_0_8_8 (removed from ggml)"},
    {36, {64, 3}, 108, "IQ4_NL_4_4 (removed from ggml)"},
    {37, {64, 3}, 108, "IQ4_NL_4_8 (removed from ggml)"},
    {38, {64, 3}, 108, "IQ4_NL_8_8 (removed from ggml)"},
};

// The bytes of the type's data may be wrong by `extra`, and so the offset of the tensor after it.
GgufBuilder file_of(u32 id, std::vector<u64> ne, u64 bytes) {
  GgufBuilder builder;
  builder.f32_tensor("first", {8});
  builder.tensor({.name = "foreign", .ne = std::move(ne), .type = id, .data = std::string(bytes, 'x')});
  builder.f32_tensor("last", {8});
  return builder;
}

TEST(ForeignTypes, IsNamedIfSizesFit) {
  for (const ForkCase& each : fork_cases) {
    const auto source = file_of(each.id, each.ne, each.bytes).source();
    const Document document = parse(*source).value();
    const TensorInfo& tensor = document.tensors[1];
    const auto foreign = foreign_type(tensor.type_id);
    ASSERT_TRUE(foreign) << each.text;
    EXPECT_EQ(foreign->text, each.text);
    EXPECT_EQ(foreign->id, each.id);
    EXPECT_EQ(tensor.bytes(), each.bytes) << each.text;
    EXPECT_EQ(tensor.type(), std::nullopt) << each.text;
    EXPECT_EQ(document.tensors[0].type(), TensorType::F32);
  }
}

// One unit of alignment more, one less, and data after the end.
TEST(ForeignTypes, StaysUnknownIfSizesDoNotFit) {
  for (const ForkCase& each : fork_cases) {
    const u64 padded = (each.bytes + 31) / 32 * 32;
    for (const u64 bytes : {padded + 32, padded - 32, padded + 64}) {
      const auto source = file_of(each.id, each.ne, bytes).source();
      const Document document = parse(*source).value();
      const auto foreign = foreign_type(document.tensors[1].type_id);
      if (!foreign) continue;  // otherwise another program's type has this size
      EXPECT_EQ(foreign->text.find(each.text), std::string::npos) << each.text << ' ' << bytes;
    }
    const auto longer = file_of(each.id, each.ne, each.bytes).trailing(std::string(64, 'y')).source();
    EXPECT_FALSE(foreign_type(parse(*longer).value().tensors[1].type_id)) << each.text;
  }
}

TEST(ForeignTypes, NeedsWholeBlocks) {
  const auto source = file_of(144, {384, 2}, 2 * (4 + 204)).source();
  const Document document = parse(*source).value();
  EXPECT_EQ(document.tensors[1].type_id, 144u);
  EXPECT_EQ(document.tensors[1].bytes(), std::nullopt);
}

// ggml's own Q2_0 (64/18) stays what it is.
TEST(ForeignTypes, PrefersGgml) {
  const auto source = file_of(42, {512, 3}, 3 * 8 * 18).source();
  const Document document = parse(*source).value();
  EXPECT_EQ(document.tensors[1].type(), TensorType::Q2_0);
  EXPECT_EQ(document.tensors[1].type_id, 42u);
}

TEST(ForeignTypes, JudgesTheWholeFile) {
  GgufBuilder builder;
  builder.tensor({.name = "a", .ne = {256, 1}, .type = 144, .data = std::string(140, 'x')});
  builder.tensor({.name = "b", .ne = {64, 3}, .type = 100, .data = std::string(108, 'x')});
  const auto source = builder.source();
  const Document document = parse(*source).value();
  EXPECT_EQ(document.tensors[0].type_id, 144u);  // no fork has both types
  EXPECT_EQ(document.tensors[1].type_id, 100u);
}

TEST(ForeignTypes, NumbersOfAFileAreNoMarks) {
  const auto source = file_of(0x80010090, {256, 1}, 140).source();
  const Document document = parse(*source).value();
  EXPECT_FALSE(is_foreign(document.tensors[1].type_id));
  EXPECT_EQ(document.tensors[1].type(), std::nullopt);
}

TEST(ForeignTypes, Uses) {
  GgufBuilder builder;
  builder.tensor({.name = "a", .ne = {256}, .type = 144, .data = std::string(140, 'x')});
  builder.tensor({.name = "b", .ne = {256}, .type = 139, .data = std::string(144, 'x')});
  builder.tensor({.name = "c", .ne = {256}, .type = 144, .data = std::string(140, 'x')});
  const auto source = builder.source();
  const Document document = parse(*source).value();
  const std::vector<ForeignTypeUse> uses = foreign_types_of(document);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[0].tensors, 2u);
  EXPECT_EQ(uses[0].first->name, "a");
  EXPECT_EQ(uses[0].type.bits_per_weight(), 4.25);
  EXPECT_EQ(uses[1].type.text, "IQ4_K (ik_llama.cpp)");
  EXPECT_EQ(candidates_text(142), "IQ2_TN (ik_llama.cpp until October 2024) or PQ2_0 (PrismML's llama.cpp)");
  EXPECT_EQ(candidates_text(999), "");
}

}  // namespace

}  // namespace modelutils::gguf

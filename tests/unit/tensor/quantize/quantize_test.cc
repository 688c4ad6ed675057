#include "tensor/quantize/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "io/hash.h"
#include "json/reader.h"
#include "support/temp_dir.h"
#include "tensor/block_check.h"
#include "tensor/dequantize.h"
#include "unit/tensor/quantize/reference_inputs.h"

namespace modelutils {
namespace {

using Blocks = std::vector<std::byte>;

Blocks quantized(TensorType type, std::span<const float> values, u64 ne0, const QuantizeOptions& options) {
  Blocks blocks(values.size() / ne0 * *row_bytes(type, ne0));
  quantize_rows(type, values, ne0, blocks, options);
  return blocks;
}

std::string text_at(json::Array array, u64 index) {
  std::string_view text;
  for (const json::Element element : array) {
    if (index-- == 0 && element.get(text)) break;
  }
  return std::string(text);
}
u64 number_at(json::Array array, u64 index) {
  u64 number = 0;
  for (const json::Element element : array) {
    if (index-- == 0 && element.get(number)) break;
  }
  return number;
}

// Generates the input that a file of digests describes.
std::vector<float> input_of(json::Element element) {
  json::Array input;
  EXPECT_TRUE(element.get(input));
  return test::reference_values(text_at(input, 0), number_at(input, 1), number_at(input, 2), number_at(input, 3));
}
std::vector<float> weights_of(json::Element element, u64 count) {
  json::Array weights;
  EXPECT_TRUE(element.get(weights));
  return test::reference_weights(text_at(weights, 0), number_at(weights, 1), count, number_at(weights, 2));
}

const Instructions both_instructions[] = {Instructions::any_machine, best_instructions()};

// One digest covers all inputs; see tests/data/quantize/README.md.
TEST(Quantize, BlocksAreThoseOfGgml) {
  const auto document = json::load(test::data_dir() + "/quantize/blocks.json");
  ASSERT_TRUE(document);
  const json::Element root = (*document)->root;
  std::vector<std::vector<float>> inputs;
  for (const json::Element input : json::Array(*json::array_member(root, "inputs"))) inputs.push_back(input_of(input));
  const json::Object weight_kinds = *json::object_member(root, "weights");
  u64 cases = 0;
  for (const json::Member of_type : json::Object(*json::object_member(root, "digests"))) {
    const TensorType type = *type_from_name(of_type.key);
    json::Object digests;
    ASSERT_TRUE(of_type.value.get(digests));
    for (const json::Member expected : digests) {
      std::vector<float> weights;
      for (const json::Member kind : weight_kinds) {
        if (kind.key == expected.key) weights = weights_of(kind.value, 768);
      }
      std::string_view digest;
      ASSERT_TRUE(expected.value.get(digest));
      for (const Instructions instructions : both_instructions) {
        Hasher hasher(HashAlgorithm::sha256);
        for (const auto& input : inputs) {
          hasher.update(quantized(type, input, 768, {.importance = weights, .instructions = instructions}));
        }
        EXPECT_EQ(hasher.hex_digest(), digest) << of_type.key << " with weights " << expected.key;
      }
      ++cases;
    }
  }
  EXPECT_EQ(cases, 98u);
}

TEST(Quantize, BlocksAreThoseOfTheReferenceData) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  const auto document = json::load(test::shared_dir() + "/corpus/quantize/blocks.json");
  ASSERT_TRUE(document);
  const json::Element root = (*document)->root;
  u64 cases = 0;
  for (const json::Member of_type : json::Object(*json::object_member(root, "digests"))) {
    const TensorType type = *type_from_name(of_type.key);
    for (const json::Member input : json::Object(*json::object_member(root, "inputs"))) {
      const std::vector<float> values = input_of(input.value);
      const auto digests = json::object_member(of_type.value, input.key);
      ASSERT_TRUE(digests);
      for (const json::Member expected : *digests) {
        std::vector<float> weights;
        if (const auto kind = json::member(*json::member(root, "weights"), expected.key)) {
          weights = weights_of(*kind, 512);
        }
        std::string_view digest;
        ASSERT_TRUE(expected.value.get(digest));
        Hasher hasher(HashAlgorithm::sha256);
        hasher.update(quantized(type, values, 512, {.importance = weights}));
        EXPECT_EQ(hasher.hex_digest(), digest) << of_type.key << ' ' << input.key << ' ' << expected.key;
        ++cases;
      }
    }
  }
  EXPECT_EQ(cases, 825u);
}

// Vectors process 8 blocks of 32, but rows may have any number; blocks after the last whole vector must not differ.
TEST(Quantize, ARowOfFewBlocksIsThatOfAWiderOne) {
  const std::vector<float> values = test::reference_values("bell", 9, 1, 32 * 11);
  for (const TensorType type : {TensorType::IQ4_NL, TensorType::Q5_0, TensorType::Q8_0}) {
    const Blocks whole = quantized(type, values, values.size(), {});
    for (u64 first = 0; first < 11; ++first) {
      const Blocks one = quantized(type, std::span(values).subspan(32 * first, 32), 32, {});
      EXPECT_TRUE(std::equal(one.begin(), one.end(), whole.begin() + static_cast<long>(first * one.size())));
    }
  }
  // With weights, the deviation of the whole row matters, so compare two rows side by side.
  std::vector<float> twice = values;
  twice.insert(twice.end(), values.begin(), values.end());
  const std::vector<float> weights = test::reference_weights("even", 1, values.size(), 1);
  for (const TensorType type : {TensorType::Q4_0, TensorType::Q5_1, TensorType::IQ4_NL}) {
    const Blocks both = quantized(type, twice, values.size(), {.importance = weights});
    const Blocks one = quantized(type, values, values.size(), {.importance = weights});
    EXPECT_TRUE(std::equal(one.begin(), one.end(), both.begin()));
    EXPECT_TRUE(std::equal(one.begin(), one.end(), both.begin() + static_cast<long>(one.size())));
  }
}

double relative_error(const std::vector<float>& values, const Blocks& blocks) {
  std::vector<float> decoded(values.size());
  dequantize(TensorType::IQ3_S, blocks, decoded);
  double error = 0;
  double sum = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error += (values[i] - decoded[i]) * (values[i] - decoded[i]);
    sum += values[i] * values[i];
  }
  return std::sqrt(error / sum);
}

TEST(Quantize, Iq3sAfterAGroupOfZeros) {
  std::vector<float> values = test::reference_values("bell", 5, 1, 256);
  EXPECT_FALSE(misplaced_in_iq3_s(values));
  std::fill_n(values.begin() + 224, 32, 0.0f);  // the last group has no successor
  EXPECT_FALSE(misplaced_in_iq3_s(values));
  EXPECT_LT(relative_error(values, quantized(TensorType::IQ3_S, values, 256, {})), 0.2);
  std::fill_n(values.begin(), 32, -0.0f);
  EXPECT_TRUE(misplaced_in_iq3_s(values));
  EXPECT_GT(relative_error(values, quantized(TensorType::IQ3_S, values, 256, {})), 1.0);
  EXPECT_LT(relative_error(values, quantized(TensorType::IQ3_S, values, 256, {.correct = true})), 0.2);
}

TEST(Quantize, WhichTypes) {
  EXPECT_TRUE(has_encoder(TensorType::F32));
  EXPECT_TRUE(has_encoder(TensorType::Q2_0));
  EXPECT_FALSE(has_encoder(TensorType::Q8_1));
  EXPECT_FALSE(has_encoder(TensorType::Q8_K));
  EXPECT_FALSE(has_encoder(TensorType::I32));
  EXPECT_TRUE(needs_importance(TensorType::IQ1_S));
  EXPECT_FALSE(needs_importance(TensorType::IQ1_M));
  EXPECT_FALSE(needs_importance(TensorType::Q4_K));
}

TEST(Quantize, AScaleAboveAHalfIsFoundInTheBlocks) {
  const std::vector<float> values(256, 1e10f);
  for (const TensorType type : {TensorType::Q8_0, TensorType::Q4_K, TensorType::Q6_K, TensorType::IQ4_XS}) {
    EXPECT_GT(check_blocks(type, quantized(type, values, 256, {})).bad_blocks, 0u) << type_name(type);
  }
}

}  // namespace
}  // namespace modelutils

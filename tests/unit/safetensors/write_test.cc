#include "safetensors/write.h"

#include <gtest/gtest.h>

#include "safetensors/document.h"
#include "safetensors/parse.h"
#include "support/safetensors_builder.h"

namespace modelutils::safetensors {
namespace {

TEST(Write, GivesTheSameBytesEveryTime) {
  const auto out = layout({{"format", "pt"}}, {{"b", TensorType::F32, {2, 2}}, {"a", TensorType::U8, {3}}});
  ASSERT_TRUE(out.has_value());
  const std::string json = R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},)"
                           R"("a":{"dtype":"U8","shape":[3],"data_offsets":[16,19]}})";
  EXPECT_EQ(out->header.substr(8), json + std::string(out->header.size() - 8 - json.size(), ' '));
  EXPECT_EQ(out->header.size() % 8, 0u);
  EXPECT_EQ(out->file_size, out->header.size() + 19);
  EXPECT_EQ(out->offsets[1], (std::pair<u64, u64>(16, 19)));
  EXPECT_EQ(layout({}, {}, {.pad_header = false})->header, std::string("\2\0\0\0\0\0\0\0{}", 10));
}

TEST(Write, WhatIsWrittenIsRead) {
  const std::string name = "na\"me\\ \x01 \u00e9 \u202e";
  const auto out = layout({{"k\n", name}}, {{name, TensorType::F4, {3, 2}}, {"", TensorType::F6_E2M3, {4}}});
  ASSERT_TRUE(out.has_value());
  const auto document = parse(*test::memory_file(out->header + std::string(6, '\0'), "m.safetensors"));
  ASSERT_TRUE(document.has_value());
  EXPECT_TRUE(document->findings.empty());
  EXPECT_EQ(document->file_size, out->file_size);
  ASSERT_EQ(document->metadata.size(), 1u);
  EXPECT_EQ(document->metadata[0].key, "k\n");
  EXPECT_EQ(document->metadata[0].value, name);
  ASSERT_EQ(document->tensors.size(), 2u);
  EXPECT_EQ(document->tensors[0].name, name);
  EXPECT_EQ(document->tensors[1].name, "");
  EXPECT_EQ(document->tensors[1].begin, 3u);
  EXPECT_EQ(document->tensors[1].end, 6u);
}

TEST(Write, RefusesWhatTheFormatCannotHold) {
  const auto code = [](const OutMetadata& metadata, const std::vector<OutTensor>& tensors) {
    const auto out = layout(metadata, tensors);
    return out ? "written" : out.error().code;
  };
  EXPECT_EQ(code({}, {{"a", TensorType::Q4_K, {256}}}), "st-write-dtype");
  EXPECT_EQ(code({}, {{"a", TensorType::F4, {3}}}), "st-write-shape");
  EXPECT_EQ(code({}, {{"a", TensorType::F32, {u64{1} << 62}}}), "st-write-shape");
  EXPECT_EQ(code({}, {{"a", TensorType::U8, {u64{1} << 62}},
                      {"b", TensorType::U8, {u64{1} << 62}},
                      {"c", TensorType::U8, {u64{1} << 62}},
                      {"d", TensorType::U8, {u64{1} << 62}}}),
            "st-write-too-large");
  EXPECT_EQ(code({}, {{"a", TensorType::U8, {u64{1} << 62}},
                      {"b", TensorType::U8, {u64{1} << 62}},
                      {"c", TensorType::U8, {u64{1} << 62}},
                      {"d", TensorType::U8, {(u64{1} << 62) - 1}}}),
            "st-write-too-large")
      << "with the header before it";
  EXPECT_EQ(code({{"a", std::string(100'000'001, 'x')}}, {}), "st-write-too-large");
  EXPECT_EQ(code({}, {{"a", TensorType::U8, {}}, {"a", TensorType::U8, {}}}), "st-write-name");
  EXPECT_EQ(code({}, {{"__metadata__", TensorType::U8, {}}}), "st-write-name");
  EXPECT_EQ(code({}, {{"\xff", TensorType::U8, {}}}), "st-write-name");
  EXPECT_EQ(code({{"a", "\xff"}}, {}), "st-write-name");
  EXPECT_EQ(code({{"a", ""}, {"a", ""}}, {}), "st-write-name");
}

}  // namespace
}  // namespace modelutils::safetensors

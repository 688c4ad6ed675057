#include "formats/safetensors/parse.h"

#include <gtest/gtest.h>

#include "support/safetensors_builder.h"

namespace modelutils::safetensors {

namespace {

using test::memory_file;
using test::SafetensorsBuilder;

std::string zeros(std::size_t size) {
  return std::string(size, '\0');
}

TEST(Document, HoldsWhatTheHeaderSays) {
  SafetensorsBuilder builder;
  builder.metadata("format", "pt").metadata("k\\u00e9", "v\\n").tensor("a", "F32", "[2,3]", zeros(24));
  builder.tensor("b.\\u0062", "BF16", "[]", zeros(2));
  const auto document = parse(*builder.source());
  ASSERT_TRUE(document.has_value());
  EXPECT_TRUE(document->complete);
  EXPECT_TRUE(document->findings.empty());
  EXPECT_EQ(document->header_bytes, builder.json().size());
  EXPECT_EQ(document->data_offset, 8 + builder.json().size());
  EXPECT_EQ(document->data_bytes(), 26u);
  ASSERT_EQ(document->metadata.size(), 2u);
  EXPECT_EQ(document->metadata[0].key, "format");
  EXPECT_EQ(document->metadata[0].value, "pt");
  EXPECT_EQ(document->metadata[1].key, "k\u00e9");
  EXPECT_EQ(document->metadata[1].value, "v\n");
  ASSERT_EQ(document->tensors.size(), 2u);
  const Tensor& a = document->tensors[0];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.type, TensorType::F32);
  EXPECT_EQ(a.ne(), (std::vector<u64>{3, 2}));
  EXPECT_EQ(a.elements(), 6u);
  EXPECT_EQ(a.expected_bytes(), 24u);
  EXPECT_EQ(builder.build()[a.entry_offset], '"');
  EXPECT_EQ(builder.build().substr(a.entry_offset, 3), "\"a\"");
  const Tensor* b = document->find("b.b");
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(b->begin, 24u);
  EXPECT_EQ(b->bytes(), 2u);
  EXPECT_EQ(b->elements(), 1u);
  EXPECT_TRUE(document->holds(*b));
  EXPECT_EQ(document->find("c"), nullptr);
}

TEST(Document, OutlivesTheSourceAndItsOwnCopies) {
  Document copy;
  {
    SafetensorsBuilder builder;
    builder.metadata("key", "value").tensor("na\\tme", "U8", "[1,2,3]", zeros(6));
    const auto document = parse(*builder.source());
    ASSERT_TRUE(document.has_value());
    copy = *document;
  }
  ASSERT_EQ(copy.tensors.size(), 1u);
  EXPECT_EQ(copy.tensors[0].name, "na\tme");
  EXPECT_EQ(copy.tensors[0].shape[2], 3u);
  EXPECT_EQ(copy.metadata[0].value, "value");
  EXPECT_NE(copy.find("na\tme"), nullptr);
}

TEST(Document, CountsBytesOfEveryDtype) {
  const std::vector<std::tuple<std::string, std::string, std::size_t>> cases = {
      {"BOOL", "[3]", 3},    {"F4", "[3,2]", 3},   {"F6_E2M3", "[2,2]", 3}, {"F6_E3M2", "[4]", 3},
      {"F8_E8M0", "[5]", 5}, {"F16", "[1]", 2},    {"U32", "[2]", 8},       {"C64", "[2]", 16},
      {"I64", "[0,9]", 0},   {"F8_E4M3", "[]", 1}, {"U16", "[1,1]", 2},     {"F8_E5M2FNUZ", "[2]", 2}};
  for (const auto& [dtype, shape, bytes] : cases) {
    const auto document = parse(*SafetensorsBuilder().tensor("t", dtype, shape, zeros(bytes)).source());
    ASSERT_TRUE(document.has_value());
    ASSERT_EQ(document->tensors.size(), 1u) << dtype;
    EXPECT_EQ(document->tensors[0].expected_bytes(), bytes) << dtype;
  }
}

TEST(Document, SaysNothingOfSizesThatCannotBe) {
  const auto tensor = [](std::string_view dtype, std::string_view shape) {
    const auto document = parse(*SafetensorsBuilder().entry("t", dtype, shape, "[0,0]").source());
    return document->tensors.at(0).expected_bytes();
  };
  EXPECT_EQ(tensor("F4", "[3]"), std::nullopt);
  EXPECT_EQ(tensor("F6_E2M3", "[3]"), std::nullopt);
  EXPECT_EQ(tensor("f32", "[1]"), std::nullopt);
  EXPECT_EQ(tensor("F64", "[4611686018427387904]"), std::nullopt);
  EXPECT_EQ(tensor("U8", "[9223372036854775808,2,0]"), std::nullopt);
  EXPECT_EQ(tensor("U8", "[0,9223372036854775808,2]"), 0u);
}

TEST(Parse, NamesFilesOfAnotherKind) {
  const auto message = [](std::string_view bytes, std::string name) {
    const auto document = parse(*memory_file(bytes, std::move(name)));
    EXPECT_FALSE(document.has_value());
    EXPECT_FALSE(is_safetensors(bytes, "m.safetensors"));
    return document ? "" : document.error().code + " " + document.error().message;
  };
  EXPECT_EQ(message("", "m.safetensors"), "st-not-safetensors is not a safetensors file but an empty file");
  EXPECT_NE(message("\n<!DOCTYPE HTML><p>", "m.safetensors").find("an HTML page"), std::string::npos);
  EXPECT_NE(message("PK\x03\x04 and more", "m.safetensors").find("a ZIP archive"), std::string::npos);
  EXPECT_NE(message("\x80\x02}q", "m.safetensors").find("a Python pickle"), std::string::npos);
  EXPECT_NE(message("GGUF\3", "m.safetensors").find("a GGUF file"), std::string::npos);
  EXPECT_NE(message("version https://git-lfs.github.com/spec/v1\n", "m.safetensors").find("Git LFS"),
            std::string::npos);
}

TEST(Parse, RecognisesByNameOrByBeginning) {
  const std::string good = SafetensorsBuilder().tensor("a", "U8", "[1]", "x").build();
  EXPECT_TRUE(is_safetensors(good, "weights.bin"));
  EXPECT_TRUE(is_safetensors("\1\2\3", "M.SafeTensors"));
  EXPECT_FALSE(is_safetensors("\1\2\3", "m.bin"));
  EXPECT_TRUE(parse(*memory_file(good, "weights.bin")).has_value());
  const auto other = parse(*memory_file("whatever this is", "m.bin"));
  ASSERT_FALSE(other.has_value());
  EXPECT_EQ(other.error().message, "is not a safetensors file but a file of unknown type");
}

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

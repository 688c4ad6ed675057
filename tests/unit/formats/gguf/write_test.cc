#include "formats/gguf/write.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace modelutils::gguf {
namespace {

using test::GgufBuilder;

std::string code_of(const Result<OutLayout>& result) {
  return result ? "written" : result.error().code;
}
std::string code_of(const OutTensor& tensor) {
  return code_of(layout({}, {tensor}));
}

OutKey u64_key(std::string key, u64 value) {
  return {std::move(key), ValueType::u64, std::string(reinterpret_cast<const char*>(&value), sizeof value)};
}

// Lays out the same keys and tensors again.
Result<OutLayout> again(const ByteSource& source, const Document& document) {
  std::vector<OutKey> keys;
  for (const KeyValue& key : document.keys) {
    MU_ASSIGN(OutKey copy, copy_key(source, document, key));
    keys.push_back(std::move(copy));
  }
  std::vector<OutTensor> tensors;
  for (const TensorInfo& info : document.tensors) tensors.push_back({info.name, info.type().value(), info.ne});
  return layout(keys, tensors, document.alignment, document.version);
}

TEST(Write, ByteForByteWhatTheFormatSays) {
  const auto written = layout({make_key("a.u32", 7), make_key_string("s", "text")},
                              {{"t", TensorType::F32, {3, 2}}, {"q", TensorType::Q4_0, {32}}});
  ASSERT_TRUE(written.has_value());
  GgufBuilder builder;
  builder.key_u32("a.u32", 7).key_string("s", "text");
  builder.tensor({.name = "t", .ne = {3, 2}, .type = 0, .data = std::string(24, 'x')});
  builder.tensor({.name = "q", .ne = {32}, .type = 2, .data = std::string(18, 'y')});
  const std::string expected = builder.build();
  EXPECT_EQ(written->header, expected.substr(0, written->header.size()));
  EXPECT_EQ(written->file_size, expected.size());
  EXPECT_EQ(written->offsets, (std::vector<u64>{written->header.size(), written->header.size() + 32}));
  EXPECT_EQ(written->bytes, (std::vector<u64>{24, 18}));
  EXPECT_EQ(written->alignment, 32u);
}

TEST(Write, KeysOfEveryKindReadBack) {
  const std::vector<OutKey> keys = {make_key("u32", 4000000000u),
                                    make_key_u16("u16", 65535),
                                    make_key_i32("i32", -5),
                                    u64_key("u64", ~u64{0}),
                                    make_key_f32("f32", 1e-5f),
                                    make_key_bool("yes", true),
                                    make_key_bool("no", false),
                                    make_key_string("string", std::string_view("a\0b", 3)),
                                    make_key_strings("strings", {"x", "", "yz"}),
                                    make_key_i32s("i32s", {-1, 2}),
                                    make_key_u32s("u32s", {}),
                                    make_key_f32s("f32s", {0.5f, -INFINITY}),
                                    make_key_bools("bools", {true, false, true})};
  const auto written = layout(keys, {});
  ASSERT_TRUE(written.has_value());
  EXPECT_EQ(written->file_size, written->header.size());
  const auto bytes = std::as_bytes(std::span(written->header));
  const MemoryFile file({bytes.begin(), bytes.end()});
  const Document document = parse(file).value();
  ASSERT_TRUE(document.complete);
  EXPECT_TRUE(document.findings.empty());
  const Index index(document);
  EXPECT_EQ(std::get<u32>(index.key("u32")->value), 4000000000u);
  EXPECT_EQ(std::get<u16>(index.key("u16")->value), 65535u);
  EXPECT_EQ(std::get<i32>(index.key("i32")->value), -5);
  EXPECT_EQ(std::get<u64>(index.key("u64")->value), ~u64{0});
  EXPECT_EQ(std::get<float>(index.key("f32")->value), 1e-5f);
  EXPECT_EQ(std::get<Bool>(index.key("yes")->value).byte, 1);
  EXPECT_EQ(std::get<Bool>(index.key("no")->value).byte, 0);
  EXPECT_EQ(index.string_value("string"), std::string_view("a\0b", 3));
  EXPECT_EQ(read_strings(file, document, *index.array_value("strings")).value(),
            (std::vector<std::string>{"x", "", "yz"}));
  EXPECT_EQ(read_numbers<i64>(file, document, *index.array_value("i32s")).value(), (std::vector<i64>{-1, 2}));
  EXPECT_EQ(index.array_value("u32s")->count, 0u);
  EXPECT_EQ(index.array_value("u32s")->element_type, ValueType::u32);
  EXPECT_EQ(read_numbers<double>(file, document, *index.array_value("f32s")).value(),
            (std::vector<double>{0.5, -INFINITY}));
  EXPECT_EQ(index.array_value("bools")->element_type, ValueType::boolean);
  EXPECT_EQ(read_numbers<u64>(file, document, *index.array_value("bools")).value(), (std::vector<u64>{1, 0, 1}));
}

TEST(Write, AParsedDocumentComesBackByteForByte) {
  for (const u32 version : {2u, 3u}) {
    GgufBuilder builder;
    builder.version(version).key_u8("u8", 1).key_i8("i8", -1).key_u16("u16", 2).key_i16("i16", -2).key_u32("u32", 3);
    builder.key_i32("i32", -3).key_f32("f32", NAN).key_bool("odd", 77).key_string("s", "t").key_u64("u64", 4);
    builder.key_i64("i64", -4).key_f64("f64", -0.0).key_array<i16>("a", {1, 2, 3}).key_strings("l", {"a", ""});
    builder.key_u32("general.alignment", 64).layout_alignment(64);
    builder.f32_tensor("one", {5}).f32_tensor("two", {16, 2, 1, 1}).f32_tensor("three", {1});
    const std::string expected = builder.build();
    const auto source = builder.source();
    const Document document = parse(*source).value();
    const auto written = again(*source, document);
    ASSERT_TRUE(written.has_value()) << written.error().message;
    EXPECT_EQ(written->header, expected.substr(0, document.data_offset));
    EXPECT_EQ(written->file_size, expected.size());
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(written->offsets[i], document.data_offset + document.tensors[i].offset);
      EXPECT_EQ(written->bytes[i], document.tensors[i].bytes());
    }
  }
}

TEST(Write, RealFilesComeBackByteForByte) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  std::vector<std::string> paths = {test::shared_dir() + "/corpus/bump/tiny-q4km.gguf",
                                    test::shared_dir() + "/corpus/bump/tiny-norm-f16.gguf"};
  for (const auto& entry : std::filesystem::directory_iterator(test::shared_dir() + "/corpus/gguf-real")) {
    paths.push_back(entry.path().string());
  }
  for (const std::string& path : paths) {
    const auto source = RandomAccessFile::open(path).value();
    const Document document = parse(*source).value();
    ASSERT_TRUE(document.complete) << path;
    const auto written = again(*source, document);
    ASSERT_TRUE(written.has_value()) << path << written.error().message;
    const std::string file = test::read_file(path);
    EXPECT_EQ(written->header.substr(0, document.header_end), file.substr(0, document.header_end)) << path;
    if (document.tensors.empty()) continue;  // some writers do not pad a header without data
    EXPECT_EQ(written->header, file.substr(0, document.data_offset)) << path;
    EXPECT_EQ(written->file_size, file.size()) << path;
    EXPECT_EQ(written->offsets.back(), document.data_offset + document.tensors.back().offset) << path;
  }
}

TEST(Write, BigEndianKeysAreNotCopied) {
  const auto source = GgufBuilder().big_endian().key_array<u32>("k", {1}).source();
  const Document document = parse(*source).value();
  EXPECT_EQ(copy_key(*source, document, document.keys[0]).error().code, "gguf-big-endian");
}

TEST(Write, RefusesNamesAndShapesThatReadersRefuse) {
  using enum TensorType;
  EXPECT_EQ(code_of(OutTensor{std::string(63, 'n'), F32, {1}}), "written");
  EXPECT_EQ(code_of(OutTensor{std::string(64, 'n'), F32, {1}}), "gguf-write-name");
  EXPECT_EQ(code_of(OutTensor{"", F32, {1}}), "gguf-write-name");
  EXPECT_EQ(code_of(OutTensor{"t", F32, {1, 1, 1, 1}}), "written");
  EXPECT_EQ(code_of(OutTensor{"t", F32, {1, 1, 1, 1, 1}}), "gguf-write-shape");
  const auto for_images = [](OutTensor tensor) {
    return code_of(layout({}, {std::move(tensor)}, 32, 3, image_limits));
  };
  EXPECT_EQ(for_images({"t", F32, {1, 1, 1, 1, 1}}), "written");
  EXPECT_EQ(for_images({"t", F32, {1, 1, 1, 1, 1, 1}}), "gguf-write-shape");
  EXPECT_EQ(for_images({std::string(127, 'n'), F32, {1}}), "written");
  EXPECT_EQ(for_images({std::string(128, 'n'), F32, {1}}), "gguf-write-name");
  EXPECT_EQ(code_of(OutTensor{"t", F32, {}}), "gguf-write-shape");
  EXPECT_EQ(code_of(OutTensor{"t", F32, {4, 0}}), "gguf-write-shape");
  EXPECT_EQ(code_of(OutTensor{"t", Q4_K, {256}}), "written");
  EXPECT_EQ(code_of(OutTensor{"t", Q4_K, {255}}), "gguf-write-shape");
  EXPECT_EQ(code_of(OutTensor{"t", Q8_0, {16, 2}}), "gguf-write-shape");
  EXPECT_EQ(code_of(OutTensor{"t", F8_E4M3, {32}}), "gguf-write-type");
  EXPECT_EQ(code_of(OutTensor{"t", F32, {u64{1} << 32, u64{1} << 32}}), "gguf-write-size");
  EXPECT_EQ(code_of(OutTensor{"t", F64, {u64{1} << 61}}), "gguf-write-size");
  EXPECT_EQ(code_of(layout({}, {{"t", F32, {1}}, {"t", F32, {2}}})), "gguf-write-name");
  EXPECT_EQ(code_of(layout({}, {{"t", I8, {u64{1} << 61}}, {"u", I8, {u64{1} << 61}}, {"v", I8, {u64{1} << 61}}})),
            "gguf-write-size");
  const auto error = layout({}, {{"the name", F32, {0}}});
  EXPECT_EQ(error.error().where, "tensor 'the name'");
  EXPECT_EQ(error.error().kind, ErrorKind::input);
}

TEST(Write, RefusesKeysThatReadersRefuse) {
  EXPECT_EQ(code_of(layout({make_key("", 1)}, {})), "gguf-write-key");
  EXPECT_EQ(code_of(layout({make_key(std::string(65535, 'k'), 1)}, {})), "written");
  EXPECT_EQ(code_of(layout({make_key(std::string(65536, 'k'), 1)}, {})), "gguf-write-key");
  EXPECT_EQ(code_of(layout({make_key("k", 1), make_key("k", 2)}, {})), "gguf-write-key");
  EXPECT_EQ(code_of(layout({OutKey{"k", ValueType::u32, "123"}}, {})), "internal");
  EXPECT_EQ(code_of(layout({}, {}, 32, 1)), "internal");
}

TEST(Write, AlignmentIsWhatReadersWillBelieve) {
  EXPECT_EQ(code_of(layout({}, {}, 64)), "gguf-write-alignment");
  EXPECT_EQ(code_of(layout({make_key("general.alignment", 64)}, {}, 64)), "written");
  EXPECT_EQ(code_of(layout({make_key("general.alignment", 64)}, {}, 32)), "gguf-write-alignment");
  EXPECT_EQ(code_of(layout({u64_key("general.alignment", 64)}, {}, 64)), "gguf-write-alignment");
  for (const u64 bad : {u64{0}, u64{24}, u64{1} << 40}) {
    EXPECT_EQ(code_of(layout({make_key("general.alignment", static_cast<u32>(bad))}, {}, bad)), "gguf-write-alignment");
  }
  const auto wide =
      layout({make_key("general.alignment", 128)}, {{"t", TensorType::F32, {1}}, {"u", TensorType::F32, {1}}}, 128);
  ASSERT_TRUE(wide.has_value());
  EXPECT_EQ(wide->header.size() % 128, 0u);
  EXPECT_EQ(wide->offsets[1] - wide->offsets[0], 128u);
  EXPECT_EQ(wide->file_size, wide->header.size() + 256);
}

}  // namespace
}  // namespace modelutils::gguf

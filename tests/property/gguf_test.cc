// Properties of the GGUF parser and writer, checked on every prefix and many corruptions of small files.
#include <gtest/gtest.h>

#include "formats/gguf/parse.h"
#include "support/gguf_again.h"
#include "support/gguf_builder.h"

namespace modelutils {
namespace {

using test::GgufBuilder;

// Returns a small file that uses every feature.
GgufBuilder small_file(bool big_endian = false) {
  GgufBuilder builder;
  builder.big_endian(big_endian);
  builder.key_string("general.architecture", "llama").key_u32("general.alignment", 64).layout_alignment(64);
  builder.key_u8("a", 1).key_i8("b", -1).key_u16("c", 2).key_i16("d", -2).key_i32("e", -3).key_f32("f", 0.5f);
  builder.key_bool("g", 1).key_u64("h", 4).key_i64("i", -4).key_f64("j", 0.25);
  builder.key_strings("tokenizer.ggml.tokens", {"<s>", "a", "", "long token"});
  builder.key_array<float>("tokenizer.ggml.scores", {0, -1, -2, -3}).key_array<i32>("types", {3, 1, 1, 1});
  builder.key_bools("flags", {1, 0});
  std::string inner;
  builder.put<u32>(inner, 4);
  builder.put<u64>(inner, 1);
  builder.put<u32>(inner, 7);
  builder.key_raw_array("nested", 9, 1, inner);
  builder.f32_tensor("token_embd.weight", {8, 4}).f32_tensor("output_norm.weight", {8});
  return builder;
}

MemoryFile memory(std::string_view bytes) {
  const auto span = std::as_bytes(std::span(bytes));
  return MemoryFile({span.begin(), span.end()}, "m.gguf");
}

// Does everything that a reader can do with a file. Returns true if the header was read completely without an error.
bool read_all(std::string_view bytes) {
  const MemoryFile file = memory(bytes);
  const auto document = gguf::parse(file);
  if (!document) return false;
  EXPECT_LE(document->header_end, bytes.size());
  EXPECT_GE(document->data_offset, document->header_end);
  for (const gguf::KeyValue& key : document->keys) {
    if (const auto* array = std::get_if<gguf::ArrayRef>(&key.value)) {
      EXPECT_LE(array->bytes, bytes.size());
      EXPECT_TRUE(gguf::read_values(file, *document, *array).has_value());
    }
  }
  for (const gguf::TensorInfo& info : document->tensors) (void)info.bytes();
  EXPECT_EQ(document->complete || !document->findings.empty(), true);
  return document->complete && first_container_error(document->findings) == nullptr;
}

TEST(GgufProperty, NoPrefixOfTheHeaderIsTakenForTheWhole) {
  for (const bool big_endian : {false, true}) {
    const GgufBuilder builder = small_file(big_endian);
    const std::string file = builder.build();
    const std::size_t header = builder.build_header().size();
    for (std::size_t size = 0; size <= file.size(); ++size) {
      EXPECT_EQ(read_all(std::string_view(file).substr(0, size)), size >= header) << size;
    }
  }
}

TEST(GgufProperty, EveryCorruptedByteOfTheHeaderIsSurvived) {
  const GgufBuilder builder = small_file();
  std::string file = builder.build();
  const std::size_t header = builder.build_header().size();
  std::size_t refused = 0;
  for (std::size_t at = 0; at < header; ++at) {
    const char good = file[at];
    for (int value = 0; value < 256; ++value) {
      file[at] = static_cast<char>(value);
      if (!read_all(file)) ++refused;
    }
    file[at] = good;
  }
  EXPECT_TRUE(read_all(file));
  EXPECT_GT(refused, header * 10) << "most lengths, counts and types cannot be changed unnoticed";
}

TEST(GgufProperty, EveryPairOfSwappedFieldsIsSurvived) {
  const GgufBuilder builder = small_file();
  const std::string file = builder.build();
  const std::size_t header = builder.build_header().size();
  // Copy any eight bytes of the header over any others, which changes the meaning of lengths, counts and offsets.
  for (std::size_t from = 0; from + 8 <= header; from += 5) {
    for (std::size_t to = 8; to + 8 <= header; to += 3) {
      std::string changed = file;
      changed.replace(to, 8, file, from, 8);
      (void)read_all(changed);
    }
  }
}

TEST(GgufProperty, WhatIsReadAndWrittenReadsTheSame) {
  GgufBuilder builder = small_file();
  for (const u32 version : {2u, 3u}) {
    const std::string file = builder.version(version).build();
    const MemoryFile source = memory(file);
    const gguf::Document document = gguf::parse(source).value();
    const auto written = test::lay_out_again(source, document);
    ASSERT_TRUE(written.has_value());
    EXPECT_EQ(written->header, file.substr(0, written->header.size()));
    const MemoryFile again = memory(written->header);
    const gguf::Document second = gguf::parse(again).value();
    EXPECT_EQ(test::difference(source, document, again, second), "");
  }
}

TEST(GgufProperty, EveryCorruptedHeaderThatCanBeWrittenReadsTheSame) {
  const GgufBuilder builder = small_file();
  std::string file = builder.build();
  const std::size_t header = builder.build_header().size();
  std::size_t written_again = 0;
  for (std::size_t at = 8; at < header; ++at) {
    const char good = file[at];
    for (const int flip : {1, 2, 0x20, 0x80}) {
      file[at] = static_cast<char>(good ^ flip);
      const MemoryFile source = memory(file);
      const auto document = gguf::parse(source);
      ASSERT_TRUE(document.has_value());
      if (!document->complete) continue;
      const auto written = test::lay_out_again(source, *document);
      if (!written) continue;
      ++written_again;
      const MemoryFile again = memory(written->header);
      const auto second = gguf::parse(again);
      ASSERT_TRUE(second.has_value());
      EXPECT_EQ(test::difference(source, *document, again, *second), "") << at;
    }
    file[at] = good;
  }
  EXPECT_GT(written_again, 100u);
}

}  // namespace
}  // namespace modelutils

#include "bump/parse.h"

#include <gtest/gtest.h>

#include <cstring>

#include "io/random_access_file.h"
#include "support/llama_model.h"
#include "support/reference_bump.h"

namespace modelutils::bump {
namespace {

MemoryFile file_of(const std::string& bytes) {
  const auto view = std::as_bytes(std::span(bytes));
  return MemoryFile({view.begin(), view.end()}, "m.bump");
}

std::string small_file(u32 weight_type = test::ggml_q8_0, bool renumbered = false) {
  test::LlamaShape shape;
  shape.embed = 256;
  shape.head_dim = 64;
  shape.intermediate = 512;
  shape.weight_type = shape.down_type = weight_type;
  return test::reference_bump(test::LlamaModel(shape), {1, 0, renumbered}).bytes;
}

TEST(BumpParse, ReadsHeaderAndTable) {
  const MemoryFile file = file_of(small_file());
  const auto document = parse(file);
  ASSERT_TRUE(document);
  EXPECT_TRUE(document->complete());
  EXPECT_TRUE(document->findings.empty());
  EXPECT_EQ(document->header.num_layers, 2u);
  EXPECT_EQ(document->header.vocab_size, 12u);
  EXPECT_EQ(document->header.aligned_ctx, 32u);
  EXPECT_EQ(document->codes.size(), 32u);
  EXPECT_EQ(document->codes[0], 8);
}

TEST(BumpParse, SolvesForWhatTheHeaderLacks) {
  for (const bool renumbered : {false, true}) {
    for (const u32 type : {test::ggml_q8_0, test::ggml_q4_k, test::ggml_q6_k, test::ggml_f16}) {
      const MemoryFile file = file_of(small_file(type, renumbered));
      const auto document = parse(file);
      ASSERT_TRUE(document);
      const auto told = readings_of(*document, Geometry{2, 512});
      ASSERT_FALSE(told.empty());
      bool found = false;
      for (const Reading& reading : readings_of(*document)) {
        found |= reading.geometry == Geometry{2, 512} && reading.numbering == told.front().numbering;
      }
      EXPECT_TRUE(found);
      // Exactly one numbering matches, unless no code differs between them.
      EXPECT_EQ(told.size(), type == test::ggml_f16 ? 2u : 1u);
      if (type != test::ggml_f16) {
        EXPECT_EQ(told.front().numbering, renumbered ? Numbering::renumbered : Numbering::original);
      }
      const auto entries = entries_of(*document, told.front());
      ASSERT_EQ(entries.size(), 32u);
      EXPECT_EQ(entries.back().offset + entries.back().size, document->file_size);
      EXPECT_TRUE(readings_of(*document, Geometry{4, 512}).empty());
      EXPECT_TRUE(readings_of(*document, Geometry{3, 0}).empty()) << "no divisor of the heads";
    }
  }
}

TEST(BumpParse, EveryLengthIsReadWithoutHarm) {
  const std::string whole = small_file();
  for (std::size_t size = 0; size < 200; ++size) {
    const MemoryFile file = file_of(whole.substr(0, size));
    const auto document = parse(file);
    if (size < 8) {
      ASSERT_FALSE(document);
      EXPECT_EQ(document.error().code, "bump-magic");
      continue;
    }
    ASSERT_TRUE(document) << size;
    EXPECT_EQ(document->complete(), size >= 0x84 + 32) << size;
    if (!document->complete()) {
      ASSERT_EQ(document->findings.size(), 1u);
      EXPECT_EQ(document->findings[0].code, "bump-short");
    }
    EXPECT_TRUE(readings_of(*document, Geometry{2, 512}).empty());
  }
}

std::string with_u32(std::string bytes, std::size_t offset, u32 value) {
  std::memcpy(bytes.data() + offset, &value, 4);
  return bytes;
}

TEST(BumpParse, HostileNumbers) {
  const auto code_for = [](const std::string& bytes) {
    const MemoryFile file = file_of(bytes);
    const auto document = parse(file);
    EXPECT_TRUE(document);
    EXPECT_TRUE(readings_of(*document).empty());
    return document->findings.empty() ? std::string() : document->findings[0].code;
  };
  const std::string good = small_file();
  EXPECT_EQ(code_for(with_u32(good, 0x10, 0xFFFFFFFF)), "bump-layers");
  EXPECT_EQ(code_for(with_u32(good, 0x10, 3)), "bump-entries");
  EXPECT_EQ(code_for(with_u32(with_u32(good.substr(0, 5000), 0x10, 4096), 0x80, 4 + 14 * 4096)), "bump-short");
  EXPECT_EQ(code_for(with_u32(good, 0x80, 0)), "bump-entries");
  // Heads with many divisors, and dimensions that overflow: nothing matches, and this is found quickly.
  EXPECT_EQ(code_for(with_u32(with_u32(good, 0x20, 0xFFFFFFFF), 0x34, 0xFFFFFFFF)), "");
  EXPECT_EQ(code_for(with_u32(good, 0x20, 3603600 * 1024u)), "");
  EXPECT_EQ(code_for(with_u32(good, 0x20, 0)), "");
}

TEST(BumpParse, AnyMagicIfAsked) {
  std::string bytes = small_file();
  bytes[3] = 'X';
  const MemoryFile file = file_of(bytes);
  EXPECT_FALSE(parse(file));
  const auto document = parse_ignoring_magic(file);
  ASSERT_TRUE(document);
  EXPECT_TRUE(document->complete());
}

}  // namespace
}  // namespace modelutils::bump

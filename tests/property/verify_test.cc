// Properties of verify for every truncation and corruption of a GGUF file.
#include <gtest/gtest.h>

#include <algorithm>

#include "formats/gguf/parse.h"
#include "model/catalog.h"
#include "rules/gguf/rules.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"
#include "verify/manifest/manifest.h"
#include "verify/model_checks.h"

namespace modelutils {
namespace {

using test::GgufBuilder;

// Small files with every kind of key, in several layouts.
std::vector<GgufBuilder> samples() {
  std::vector<GgufBuilder> files;
  files.push_back(GgufBuilder().key_string("general.architecture", "test").f32_tensor("a", {8}).f32_tensor("b", {3}));
  files.push_back(GgufBuilder()
                      .key_string("general.architecture", "llama")
                      .key_u32("llama.block_count", 1)
                      .key_array<u32>("llama.attention.head_count", {4})
                      .key_strings("tokenizer.ggml.tokens", {"a", "b", "ab", ""})
                      .key_array<float>("tokenizer.ggml.scores", {0, 1, 2, 3})
                      .key_array<i32>("tokenizer.ggml.token_type", {1, 1, 1, 5})
                      .key_strings("tokenizer.ggml.merges", {"a b"})
                      .key_u32("tokenizer.ggml.eos_token_id", 1)
                      .key_string("tokenizer.chat_template", "{{ x }}")
                      .f32_tensor("token_embd.weight", {4, 4})
                      .f32_tensor("blk.0.attn_norm.weight", {4})
                      .without_end_padding());
  files.push_back(GgufBuilder()
                      .big_endian()
                      .key_string("general.architecture", "test")
                      .key_bool("b", 1)
                      .key_f64("f", 0.5)
                      .f32_tensor("t", {5}));
  files.push_back(GgufBuilder()
                      .key_string("general.architecture", "test")
                      .key_u32("general.alignment", 64)
                      .layout_alignment(64)
                      .key_u32("general.quantization_version", 2)
                      .f32_tensor("empty", {4, 0})
                      .tensor({.name = "q", .ne = {32, 2}, .type = 8, .data = std::string(68, '\0')}));
  return files;
}

std::shared_ptr<MemoryFile> memory(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return std::make_shared<MemoryFile>(std::vector<std::byte>(bytes.begin(), bytes.end()));
}

// Applies everything that verify does; returns nullopt if the file is not recognised.
std::optional<FindingLog> verify_all(std::string_view file) {
  const auto source = memory(file);
  auto document = gguf::parse(*source);
  if (!document) return std::nullopt;
  gguf::SplitSet set;
  set.files.push_back({"sample.gguf", source, std::move(*document)});
  FindingLog log = gguf_structure_rules(set);
  const Catalog catalog = catalog_of(set);
  check_data(catalog, {}, 1, log);
  write_manifest(
      catalog, HashAlgorithm::xxh3, true, 1, [](std::string_view) { return true; }, log);
  return log;
}

// Returns the end of the last tensor's data.
u64 end_of_data(std::string_view file) {
  const auto source = memory(file);
  const gguf::Document document = *gguf::parse(*source);
  u64 end = 0;
  for (const gguf::TensorInfo& tensor : document.tensors) {
    end = std::max(end, document.data_offset + tensor.offset + *tensor.bytes());
  }
  return end;
}

TEST(VerifyProperty, TheSamplesAreSound) {
  for (const GgufBuilder& sample : samples()) {
    const auto log = verify_all(sample.build());
    ASSERT_TRUE(log.has_value());
    EXPECT_EQ(log->errors(), 0u) << log->findings().front().message;
  }
}

TEST(VerifyProperty, AFileCutBeforeTheEndOfItsDataNeverVerifies) {
  for (const GgufBuilder& sample : samples()) {
    const std::string file = sample.build();
    const u64 end = end_of_data(file);
    for (u64 size = 0; size < end; ++size) {
      const auto log = verify_all(std::string_view(file).substr(0, size));
      EXPECT_TRUE(!log || log->errors() > 0) << "cut at " << size << " of " << end;
    }
  }
}

TEST(VerifyProperty, EveryCorruptedHeaderByteGivesAnAnswer) {
  for (const GgufBuilder& sample : samples()) {
    const std::string file = sample.build();
    const std::size_t header = sample.build_header().size();
    for (std::size_t at = 0; at < header; ++at) {
      for (const int flip : {0x01, 0x80, 0xFF}) {
        std::string changed = file;
        changed[at] = static_cast<char>(changed[at] ^ flip);
        const auto log = verify_all(changed);
        if (at < 4) {
          EXPECT_FALSE(log.has_value());
        } else {
          ASSERT_TRUE(log.has_value()) << "byte " << at;
          u64 listed = 0;
          for (const Finding& finding : log->findings()) listed += finding.severity != Severity::note;
          EXPECT_EQ(listed, log->errors() + log->warnings());
        }
      }
    }
  }
}

// In cmd, "verify" alone is a command of cmd itself.
TEST(VerifyProperty, TheProgramKeepsItsExitCodes) {
  const test::TempDir folder;
  const std::string file = samples()[1].build();
  for (std::size_t at = 0; at < file.size(); at += 37) {
    std::string changed = file;
    changed[at] = static_cast<char>(~changed[at]);
    const std::string path = folder.write("m.gguf", changed);
    const int status = test::run("modelutils verify --data --json " + path).status;
    EXPECT_TRUE(status == 0 || status == 1 || (status == 3 && at < 4)) << "byte " << at << ": " << status;
    folder.write("m.gguf", file.substr(0, at));
    const int cut = test::run("modelutils verify --data " + path).status;
    EXPECT_EQ(cut, at < 4 ? 3 : at < end_of_data(file) ? 1 : 0) << "cut at " << at;
  }
}

}  // namespace
}  // namespace modelutils

// verify for BUMPWGT3: alone, with gguf2bump's manifest, and against its source.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "arch/rope.h"
#include "base/text.h"
#include "convert/to_bump/gguf_to_bump.h"
#include "support/llama_model.h"
#include "support/reference_bump.h"
#include "support/temp_dir.h"
#include "verify/verify.h"

namespace modelutils {
namespace {

using test::LlamaModel;
using test::LlamaShape;
using test::TempDir;

LlamaShape tiny_shape() {
  LlamaShape shape;
  shape.layers = 1;
  shape.vocab = 5;
  shape.embed = 32;
  shape.heads = 2;
  shape.kv_heads = 1;
  shape.head_dim = 16;
  shape.intermediate = 32;
  shape.context = 20;
  shape.norm_type = test::ggml_f16;
  shape.qkv_bias = true;
  return shape;
}

class BumpRules : public testing::Test {
 protected:
  BumpRules() { convert(LlamaModel(tiny_shape()), {}); }

  void convert(const LlamaModel& model, const BumpRequest& request) {
    GgufToBumpOptions options;
    options.input = folder_.write("model.gguf", model.build());
    options.output = folder_.file("weights.bump");
    options.manifest = folder_.file("manifest.json");
    options.request = request;
    options.force = true;
    Progress silent;
    const auto report = convert_gguf_to_bump(options, silent);
    ASSERT_TRUE(report) << report.error().message;
    ASSERT_TRUE(report->refusals.empty()) << report->refusals[0].message;
    bytes_ = test::read_file(*options.output);
    entries_ = report->mapping.entries;
  }

  enum class With { alone, manifest, source };
  VerifyReport verify(const std::string& bytes, With with = With::alone) {
    const std::string path = folder_.write("weights.bump", bytes);
    VerifyOptions options;
    options.threads = 1;
    if (with == With::manifest) options.manifest = folder_.file("manifest.json");
    if (with == With::source) options.against = folder_.file("model.gguf");
    VerifyReport result;
    const Status done = verify_paths({path}, options, [&](const VerifyReport& report) { result = report; });
    EXPECT_TRUE(done) << done.error().message;
    return result;
  }

  static bool has(const VerifyReport& report, std::string_view code, std::string_view where = {}) {
    return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
      return finding.code == code && finding.where.find(where) != std::string::npos;
    });
  }
  static std::string text(const VerifyReport& report) {
    std::string all;
    for (const Finding& finding : report.findings) {
      all += fmt::format("{} {}: {}\n", finding.code, finding.where, finding.message);
    }
    return all;
  }

  std::string flipped(std::size_t offset, char mask = 1) const {
    std::string bytes = bytes_;
    bytes[offset] = static_cast<char>(bytes[offset] ^ mask);
    return bytes;
  }

  TempDir folder_;
  std::string bytes_;
  std::vector<BumpEntry> entries_;
};

TEST_F(BumpRules, OutputsAreSound) {
  for (const With with : {With::alone, With::manifest, With::source}) {
    const VerifyReport report = verify(bytes_, with);
    EXPECT_EQ(report.format, "bumpwgt3");
    EXPECT_EQ(report.errors, 0u) << text(report);
    EXPECT_EQ(report.warnings, 0u) << text(report);
    EXPECT_TRUE(has(report, "bump-numbering"));
  }
  std::filesystem::remove(folder_.file("config.json"));
  const VerifyReport alone = verify(bytes_);
  EXPECT_EQ(alone.errors, 0u) << text(alone);
  EXPECT_TRUE(has(alone, "bump-no-config"));
  EXPECT_EQ(verify(bytes_, With::source).errors, 0u);
}

TEST_F(BumpRules, RepackedFilesAreRecognised) {
  LlamaShape shape = tiny_shape();
  shape.weight_type = test::ggml_f32;
  BumpRequest request;
  request.split_halves = true;
  convert(LlamaModel(shape), request);
  const VerifyReport report = verify(bytes_, With::source);
  EXPECT_EQ(report.errors, 0u) << text(report);
  EXPECT_TRUE(has(report, "parity-repacked")) << text(report);
  const auto wq = std::ranges::find(entries_, bump::Role::wq, [](const BumpEntry& e) { return e.entry.role; });
  EXPECT_TRUE(has(verify(flipped(wq->entry.offset), With::source), "parity-differs", "layer.0.wq"));
}

TEST_F(BumpRules, ConfigsThatSayNothing) {
  const auto with_config = [&](std::string_view config) {
    folder_.write("config.json", config);
    return verify(bytes_);
  };
  const VerifyReport array = with_config("[]");
  EXPECT_EQ(array.errors, 1u) << text(array);
  EXPECT_TRUE(has(array, "hf-config-not-object"));
  const VerifyReport empty = with_config("{}");
  EXPECT_EQ(empty.errors, 0u) << text(empty);
  EXPECT_TRUE(has(empty, "bump-no-config"));
  const VerifyReport broken = with_config("{");
  EXPECT_EQ(broken.errors, 1u) << text(broken);
  EXPECT_EQ(text(broken).find("there is no config.json"), std::string::npos) << text(broken);
  for (const char* number : {"-2", "2.0"}) {
    const VerifyReport wrong =
        with_config(fmt::format(R"({{"num_attention_heads": 2, "num_key_value_heads": {}}})", number));
    EXPECT_EQ(wrong.errors, 1u) << "nothing is said about 2 KV heads: " << text(wrong);
    EXPECT_TRUE(has(wrong, "bump-config", "num_key_value_heads"));
  }
}

TEST_F(BumpRules, EveryFlippedByteIsFound) {
  // All of the header and the table, and a sample of the payload, which has a single checksum.
  const std::size_t last = bytes_.size() - 1;
  for (std::size_t i = 0; i <= last; i = i < 0x100 ? i + 1 : i == last ? last + 1 : std::min(i + 61, last)) {
    const VerifyReport report = verify(flipped(i, i % 2 == 0 ? '\x01' : '\x80'));
    ASSERT_GT(report.errors, 0u) << "byte " << i;
  }
}

std::string_view name_of_header_byte(std::size_t offset) {
  if (offset < 8) return "magic";
  if (offset >= 0x80) return "number of dtype codes";
  if (offset >= 0x60) return "reserved";
  if (offset >= 0x40) return "sha256";
  for (const bump::HeaderField& field : bump::header_fields()) {
    if (offset >= field.offset && offset < field.offset + field.bytes) return field.name;
  }
  return "?";
}

TEST_F(BumpRules, HeaderFieldsAreNamed) {
  const bool had_config = std::filesystem::remove(folder_.file("config.json"));
  EXPECT_TRUE(had_config);  // the names come only from the manifest and the source
  for (std::size_t i = 0; i < 0x84; ++i) {
    for (const char mask : {'\x01', '\x40'}) {
      for (const With with : {With::manifest, With::source}) {
        const VerifyReport report = verify(flipped(i, mask), with);
        const std::string_view name = name_of_header_byte(i);
        const bool is_named = std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
          return finding.severity == Severity::error && finding.where.find(name) != std::string::npos;
        });
        EXPECT_TRUE(is_named) << "byte " << i << " of " << name
                              << (with == With::manifest ? ", manifest\n" : ", source\n") << text(report);
      }
    }
  }
}

TEST_F(BumpRules, EntriesAreNamed) {
  for (const BumpEntry& entry : entries_) {
    const std::string name = entry.entry.name();
    for (const u64 inside : {u64{0}, entry.entry.size / 2, entry.entry.size - 1}) {
      const std::string broken = flipped(entry.entry.offset + inside, '\x10');
      const VerifyReport by_manifest = verify(broken, With::manifest);
      EXPECT_TRUE(has(by_manifest, "manifest-differs", name)) << name << '\n' << text(by_manifest);
      EXPECT_TRUE(has(by_manifest, "bump-checksum"));
      const VerifyReport by_source = verify(broken, With::source);
      EXPECT_TRUE(has(by_source, "parity-differs", name)) << name << '\n' << text(by_source);
      EXPECT_EQ(by_source.errors, 2u) << text(by_source);  // the checksum and the entry
    }
  }
}

TEST_F(BumpRules, DtypeCodesAreNamed) {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    for (const char mask : {'\x01', '\x40'}) {
      const std::string broken = flipped(bump::codes_offset + i, mask);
      const std::string name = entries_[i].entry.name();
      const VerifyReport by_manifest = verify(broken, With::manifest);
      EXPECT_TRUE(has(by_manifest, "manifest-differs", "dtype code of " + name)) << text(by_manifest);
      const VerifyReport by_source = verify(broken, With::source);
      EXPECT_TRUE(has(by_source, "parity-field", "dtype code of " + name)) << text(by_source);
    }
  }
}

TEST_F(BumpRules, ACutOffFileIsIncomplete) {
  const VerifyReport report = verify(bytes_.substr(0, bytes_.size() / 2));
  ASSERT_EQ(report.errors, 1u) << text(report);
  EXPECT_EQ(report.findings[0].code, "bump-size");
  EXPECT_TRUE(report.findings[0].leads);
  EXPECT_TRUE(report.findings[0].message.starts_with(incomplete_text(bytes_.size() / 2, bytes_.size())))
      << text(report);
}

TEST_F(BumpRules, SizesAreExact) {
  for (const std::string& broken : {bytes_ + std::string(1, '\0'), bytes_.substr(0, bytes_.size() - 1),
                                    bytes_.substr(0, 0x90), bytes_.substr(0, 100)}) {
    const VerifyReport report = verify(broken);
    EXPECT_GT(report.errors, 0u);
    EXPECT_TRUE(has(report, "bump-size") || has(report, "bump-short") || has(report, "bump-config")) << text(report);
    EXPECT_TRUE(has(verify(broken, With::source), "parity-size") || broken.size() < 0x84);
  }
}

TEST_F(BumpRules, ConfigMustAgree) {
  const std::string config = test::read_file(folder_.file("config.json"));
  const auto with = [&](std::string_view from, std::string_view to) {
    std::string changed = config;
    changed.replace(changed.find(from), from.size(), to);
    folder_.write("config.json", changed);
    return verify(bytes_);
  };
  EXPECT_TRUE(has(with("\"vocab_size\": 5", "\"vocab_size\": 6"), "bump-config", "vocab_size"));
  EXPECT_TRUE(has(with("\"intermediate_size\": 32", "\"intermediate_size\": 64"), "bump-config"));
  EXPECT_TRUE(has(with("\"num_hidden_layers\": 1", "\"num_hidden_layers\": -1"), "bump-config", "num_hidden_layers"));
  EXPECT_TRUE(has(with("\"num_key_value_heads\": 1", "\"num_key_value_heads\": 3"), "bump-config"));
  EXPECT_TRUE(has(with("{", "{{"), "json-syntax"));
}

TEST_F(BumpRules, ConfigMustAgreeWithTheSource) {
  // Without the intermediate size, any number of kv heads matches the file's size; the source is more specific.
  folder_.write("config.json", R"({"num_attention_heads": 2, "num_key_value_heads": 2})");
  EXPECT_TRUE(has(verify(bytes_, With::source), "parity-field", "num_key_value_heads"));
  folder_.write("config.json", R"({"num_attention_heads": 2, "num_key_value_heads": 1, "max_position_embeddings": 7})");
  EXPECT_FALSE(has(verify(bytes_, With::source), "parity-field"));
}

TEST_F(BumpRules, ContextAndPaddingAreFoundInTheFile) {
  LlamaShape shape = tiny_shape();
  shape.head_dim = 32;
  BumpRequest request;
  request.context = 33;
  request.align_head = 96;
  convert(LlamaModel(shape), request);
  EXPECT_EQ(verify(bytes_).errors, 0u);
  const VerifyReport report = verify(bytes_, With::source);
  EXPECT_EQ(report.errors, 0u) << text(report);
  EXPECT_TRUE(has(report, "parity-context"));
  // Wrong numbers in the header are named, although only the size reveals them.
  EXPECT_TRUE(has(verify(flipped(0x1C), With::source), "parity-field", "context_len"));
  EXPECT_TRUE(has(verify(flipped(0x30, '\x20'), With::source), "parity-field", "aligned_head"));
  EXPECT_TRUE(has(verify(flipped(0x37, '\x20'), With::source), "parity-field", "aligned_head"));
}

TEST_F(BumpRules, WhatIsNotCarriedIsAWarning) {
  LlamaModel model(tiny_shape());
  model.add("blk.0.attn_q_norm.weight", {16}, test::ggml_f32);
  model.add("output.weight", {32, 5}, test::ggml_q8_0);
  BumpRequest request;
  request.drop = {"*"};
  convert(model, request);
  const VerifyReport report = verify(bytes_, With::source);
  EXPECT_EQ(report.errors, 0u) << text(report);
  EXPECT_EQ(report.warnings, 2u) << text(report);
  EXPECT_TRUE(has(report, "parity-not-carried", "attn_q_norm"));
  EXPECT_TRUE(has(report, "parity-not-carried", "output.weight"));
}

TEST_F(BumpRules, RopeScalingNeedsTheConfig) {
  LlamaModel model(tiny_shape());
  model.add_rope_freqs(llama3_rope_freqs(10000, 16, {}));
  convert(model, {});
  EXPECT_FALSE(has(verify(bytes_, With::source), "parity-not-carried"));
  std::filesystem::remove(folder_.file("config.json"));
  EXPECT_TRUE(has(verify(bytes_, With::source), "parity-not-carried", "rope_freqs"));
}

TEST_F(BumpRules, SourcesThatHaveNoBumpForm) {
  folder_.write("model.gguf", test::GgufBuilder().key_string("general.architecture", "llama").build());
  const VerifyReport report = verify(bytes_, With::source);
  EXPECT_TRUE(has(report, "gguf2bump-key")) << text(report);
}

TEST_F(BumpRules, FloatTypesFitBothNumberings) {
  LlamaShape shape = tiny_shape();
  shape.weight_type = shape.down_type = test::ggml_bf16;
  convert(LlamaModel(shape), {});
  const VerifyReport report = verify(bytes_);
  EXPECT_EQ(report.errors + report.warnings, 0u) << text(report);
  EXPECT_NE(text(report).find("fit both numberings"), std::string::npos);
}

}  // namespace
}  // namespace modelutils

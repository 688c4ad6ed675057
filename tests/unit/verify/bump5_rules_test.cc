// verify for BUMPWGT4 and BUMPWGT5: the weights alone, with side files, and against their source.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "convert/to_bump/gguf_to_bump.h"
#include "io/hash.h"
#include "support/reference_bump5.h"
#include "support/sampling.h"
#include "support/temp_dir.h"
#include "verify/verify.h"

namespace modelutils {
namespace {

using test::Bump5Traits;
using test::LlamaModel;
using test::LlamaShape;
using test::TempDir;

class Bump5Rules : public testing::Test {
 protected:
  Bump5Rules() { write(small("llama"), traits()); }

  static LlamaShape small(const char* architecture) {
    LlamaShape shape;
    shape.architecture = architecture;
    shape.layers = 1;
    shape.embed = 32;
    shape.heads = 2;
    shape.kv_heads = 1;
    shape.intermediate = 32;
    shape.context = 20;
    shape.norm_type = test::ggml_f16;
    shape.qkv_bias = true;
    return shape;
  }
  static Bump5Traits traits() {
    Bump5Traits traits;
    traits.vocabulary = test::tiny_tokens("gpt2");
    return traits;
  }

  void write(const LlamaShape& shape, const Bump5Traits& traits, bool untied = false) {
    LlamaModel model = test::bump5_model(shape, traits);
    if (untied) model.add("output.weight", {shape.embed, shape.vocab}, test::ggml_f16);
    folder_.write("model.gguf", model.build());
    files_ = test::reference_bump5(model, traits, "test");
    folder_.write("weights.bump", files_.weights);
    folder_.write("weights_manifest.json", files_.manifest);
    folder_.write("weights_manifest.map", files_.map);
    folder_.write("config.json", files_.config);
  }

  VerifyReport verify(bool against = false) {
    VerifyOptions options;
    options.threads = 1;
    if (against) options.against = folder_.file("model.gguf");
    VerifyReport result;
    const Status done =
        verify_paths({folder_.file("weights.bump")}, options, [&](const VerifyReport& report) { result = report; });
    EXPECT_TRUE(done) << done.error().message;
    return result;
  }
  VerifyReport with_weights(const std::string& bytes, bool against = false) {
    folder_.write("weights.bump", bytes);
    return verify(against);
  }
  // Replaces the first `from` in a side file and verifies.
  VerifyReport with(const std::string& file, const std::string& text, std::string_view from, std::string_view to) {
    std::string changed = text;
    const std::size_t at = changed.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    if (at != std::string::npos) changed.replace(at, from.size(), to);
    folder_.write(file, changed);
    const VerifyReport report = verify();
    folder_.write(file, text);
    return report;
  }
  VerifyReport with_manifest(std::string_view from, std::string_view to) {
    return with("weights_manifest.json", files_.manifest, from, to);
  }
  VerifyReport with_map(std::string_view from, std::string_view to) {
    return with("weights_manifest.map", files_.map, from, to);
  }

  static bool has(const VerifyReport& report, std::string_view code, std::string_view where = {}) {
    return std::any_of(report.findings.begin(), report.findings.end(), [&](const Finding& finding) {
      return finding.code == code && finding.where.find(where) != std::string::npos;
    });
  }
  static std::string text(const VerifyReport& report) {
    std::string all;
    for (const Finding& f : report.findings) {
      all += fmt::format("{} {} {} {}: {}\n", severity_name(f.severity), f.code, f.file, f.where, f.message);
    }
    return all;
  }

  // Updates the checksum of a changed payload, so that only rules can detect the change.
  std::string resealed(std::string bytes) const {
    Hasher hasher(HashAlgorithm::sha256);
    hasher.update(std::as_bytes(std::span(bytes).subspan(152, files_.payload_end - 152)));
    return bytes.replace(88, 32, hasher.digest());
  }
  u64 offset_of(std::string_view entry) const {
    return std::ranges::find(files_.entries, entry, &test::ReferenceEntry5::name)->offset;
  }
  template <typename T>
  std::string with_number(u64 offset, T value) const {
    std::string bytes = files_.weights;
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    return resealed(bytes);
  }

  TempDir folder_;
  test::ReferenceBump5 files_;
};

TEST_F(Bump5Rules, OutputsAreSound) {
  for (const char* architecture : {"llama", "qwen2", "qwen3", "gemma3"}) {
    for (const bool untied : {false, true}) {
      write(small(architecture), traits(), untied);
      for (const bool against : {false, true}) {
        const VerifyReport report = verify(against);
        EXPECT_EQ(report.format, "bumpwgt5");
        EXPECT_TRUE(report.findings.empty()) << text(report);
        EXPECT_EQ(report.tensors, files_.entries.size());
      }
    }
  }
}

TEST_F(Bump5Rules, EveryFlippedByteIsFound) {
  for (std::size_t i = 0; i < files_.weights.size(); i += test::sampling_step) {
    std::string bytes = files_.weights;
    bytes[i] = static_cast<char>(bytes[i] ^ 1);
    const VerifyReport report = with_weights(bytes);
    EXPECT_GT(report.errors, 0u) << "byte " << i;
    if (testing::Test::HasFailure()) return;
  }
}

TEST_F(Bump5Rules, EveryFlippedByteOfTheMapIsFound) {
  for (std::size_t i = files_.map.find("token_emb"); i < files_.map.size(); i += test::sampling_step) {
    std::string changed = files_.map;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    if (i + 1 == files_.map.size()) continue;  // the last line feed is optional
    folder_.write("weights_manifest.map", changed);
    EXPECT_GT(verify().errors, 0u) << "byte " << i;
    if (testing::Test::HasFailure()) return;
  }
}

TEST_F(Bump5Rules, WithoutCompanions) {
  for (const char* file : {"weights_manifest.json", "weights_manifest.map", "config.json"}) {
    std::filesystem::remove(folder_.file(file));
  }
  const VerifyReport report = verify(true);
  EXPECT_EQ(report.errors + report.warnings, 0u) << text(report);
  EXPECT_TRUE(has(report, "bump-no-manifest"));
  EXPECT_TRUE(has(report, "bump-no-map"));
  EXPECT_TRUE(has(report, "bump-no-config"));
}

TEST_F(Bump5Rules, Version4) {
  std::string bytes = files_.weights.substr(0, files_.payload_end);
  bytes[7] = '4';
  bytes[8] = 4;
  VerifyReport report = with_weights(bytes, true);
  EXPECT_EQ(report.format, "bumpwgt4");
  EXPECT_EQ(report.errors, 0u) << text(report);
  folder_.write("weights_manifest.json",
                "{\n\"num_layers\": 1,\n" + files_.manifest.substr(files_.manifest.find("  \"entries\"")));
  report = verify();
  EXPECT_EQ(report.errors, 0u) << text(report);
  EXPECT_EQ(report.warnings, 2u) << text(report);  // no config, and no quant_summary: NaN
  EXPECT_TRUE(has(report, "bump-quant-summary"));
  bytes[8] = 5;
  EXPECT_TRUE(has(with_weights(bytes), "bump-version"));
}

TEST_F(Bump5Rules, Manifests) {
  EXPECT_TRUE(has(with_manifest("\"quant_summary\"", "\"quant\""), "bump-quant-summary"));
  EXPECT_TRUE(has(with_manifest("\"lm_head\": \"q8_0\"", "\"lm_head\": \"fp32\""), "bump-quant-summary", "lm_head"));
  EXPECT_TRUE(has(with_manifest("\"wv\": \"q8_0\"", "\"wv\": 1"), "bump-quant-summary", "layer.0 wv"));
  EXPECT_TRUE(has(with_manifest("\"layer.0\": {", "\"layer.1\": {"), "bump-quant-summary", "layer.0"));
  EXPECT_TRUE(has(with_manifest("\"config\"", "\"konfig\""), "bump-manifest", "manifest config"));
  EXPECT_TRUE(
      has(with_manifest("\"embed_dim\": 32", "\"embed_dim\": 33"), "bump-manifest", "manifest config embed_dim"));
  EXPECT_TRUE(has(with_manifest("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false"), "bump-manifest",
                  "tie_word_embeddings"));
  EXPECT_TRUE(has(with_manifest("\"layer.0.bq\"", "\"layer.0.bk\""), "bump-manifest", "entry layer.0.b"));
  EXPECT_TRUE(has(with_manifest("\"layer.0.bq\"", "\"layer.7.bq\""), "bump-manifest", "entry layer.7.bq"));
  EXPECT_TRUE(has(with_manifest("\"dtype\": \"u8\"", "\"dtype\": \"i8\""), "bump-manifest", "entry vocab_strings"));
  EXPECT_TRUE(has(with_manifest("\"file_offset\": ", "\"file_offset\": 1"), "bump-manifest", "entry token_emb"));
  EXPECT_TRUE(has(with_manifest("\"size\"", "\"length\""), "bump-manifest", "manifest entries"));
  EXPECT_TRUE(has(with_manifest("\"entries\"", "\"parts\""), "bump-manifest", "manifest entries"));
  EXPECT_TRUE(has(with_manifest("\"version\": 5", "\"version\": 6"), "bump-manifest"));  // the hash does not match
  EXPECT_TRUE(has(with_manifest("{", "["), "json-syntax"));
  folder_.write("weights_manifest.json", "[]");
  EXPECT_TRUE(has(verify(), "bump-manifest"));
}

TEST_F(Bump5Rules, Maps) {
  EXPECT_TRUE(has(with_map("token_emb|", "token_em|"), "bump-map", "entry token_em"));
  EXPECT_TRUE(has(with_map("|q8_0|", "|q8_0"), "bump-map", "line 3"));
  EXPECT_TRUE(has(with_map("layer.0.bo", "layer.0.bq"), "bump-map", "entry layer.0.bq"));
  const std::string end = fmt::format("0x{:016X}|0x{:016X}", offset_of("final_ln_bias"), 128);
  EXPECT_TRUE(has(with_map(end, fmt::format("0x{:016X}|0x{:016X}", offset_of("final_ln_bias"), 129)), "bump-map"));
  std::string far = files_.map;
  far.replace(far.rfind("0x") + 2, 16, "FFFFFFFFFFFFFFFF");
  folder_.write("weights_manifest.map", far);
  const VerifyReport report = verify();
  EXPECT_EQ(report.errors, 1u) << text(report);
  EXPECT_NE(text(report).find("runtime_offset"), std::string::npos);
}

TEST_F(Bump5Rules, Configs) {
  const auto with_config = [&](std::string_view from, std::string_view to) {
    return with("config.json", files_.config, from, to);
  };
  EXPECT_TRUE(has(with_config("\"hidden_size\": 32", "\"hidden_size\": \"x\""), "bump-config", "hidden_size"));
  EXPECT_TRUE(has(with_config("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false"), "bump-config"));
  folder_.write("config.json", "[]");
  EXPECT_TRUE(has(verify(), "hf-config-not-object"));
  folder_.write("config.json", "{");
  EXPECT_TRUE(has(verify(), "json-syntax"));
}

TEST_F(Bump5Rules, Vocabularies) {
  EXPECT_TRUE(
      has(with_weights(with_number<i32>(offset_of("vocab_offsets") + 4, 1)), "bump-vocabulary", "entry vocab_offsets"));
  EXPECT_TRUE(has(with_weights(with_number<i32>(offset_of("vocab_offsets"), -1)), "bump-vocabulary"));
  EXPECT_TRUE(
      has(with_weights(with_number<u8>(offset_of("vocab_scores") - 1, 'x')), "bump-vocabulary", "entry vocab_strings"));
  EXPECT_TRUE(
      has(with_weights(with_number<i32>(offset_of("vocab_merges"), 12)), "bump-vocabulary", "entry vocab_merges"));
  EXPECT_TRUE(
      has(with_weights(with_number<i32>(offset_of("vocab_merges"), 4)), "bump-vocabulary", "entry vocab_merges"));
  const VerifyReport nul = with_weights(with_number<u8>(offset_of("vocab_strings") + 2, 0));
  EXPECT_EQ(nul.errors, 0u) << text(nul);
  EXPECT_TRUE(has(nul, "bump-vocabulary"));
}

TEST_F(Bump5Rules, Metadata) {
  const auto with_metadata = [&](std::string_view from, std::string_view to) {
    std::string bytes = files_.weights;
    const std::size_t at = bytes.find(from, files_.payload_end);
    EXPECT_NE(at, std::string::npos) << from;
    bytes.replace(at, from.size(), to);
    const std::string metadata = bytes.substr(files_.payload_end, bytes.size() - 48 - files_.payload_end);
    Hasher hasher(HashAlgorithm::sha256);
    hasher.update(std::as_bytes(std::span(metadata)));
    const u64 size = metadata.size();
    bytes.resize(bytes.size() - 40);
    bytes.append(reinterpret_cast<const char*>(&size), 8);
    return with_weights(bytes + hasher.digest());
  };
  EXPECT_TRUE(has(with_metadata("\"schema_version\":1", "\"schema_version\":2"), "bump-metadata", "schema_version"));
  EXPECT_TRUE(has(with_metadata("BUMPWGT5", "BUMPWGT6"), "bump-metadata", "format"));
  EXPECT_TRUE(has(with_metadata("\"schema_version\":1", "\"schema_version\": 1"), "bump-metadata"));
  EXPECT_TRUE(has(with_metadata("\"template\":null", "\"template\":true"), "bump-metadata", "template_hash"));
  EXPECT_TRUE(has(with_metadata("{\"config\":{", "{\"konfig\":{"), "bump-metadata", "metadata config"));
  EXPECT_TRUE(has(with_metadata("\"embed_dim\":32", "\"embed_dim\":33"), "bump-manifest", "manifest config"));
  EXPECT_TRUE(has(with_metadata("{\"config\"", "[\"config\""), "bump-metadata"));
  std::string bytes = files_.weights.substr(0, files_.payload_end) + "[]BUMPV5MD";
  const u64 size = 2;
  bytes.append(reinterpret_cast<const char*>(&size), 8);
  const VerifyReport array = with_weights(bytes + std::string(32, 'x'));
  EXPECT_TRUE(has(array, "bump-checksum", "footer"));
  EXPECT_TRUE(has(array, "bump-metadata"));
  EXPECT_TRUE(has(with_weights(files_.weights.substr(0, files_.weights.size() - 1)), "bump-footer"));
}

TEST_F(Bump5Rules, Headers) {
  EXPECT_TRUE(has(with_weights(with_number<u32>(12, 2)), "bump-model-type"));
  EXPECT_TRUE(has(with_weights(with_number<u64>(48, 64)), "bump-dimension", "aligned_embed"));
  EXPECT_TRUE(has(with_weights(with_number<u32>(32, 0)), "bump-dimension", "context_len"));
  EXPECT_TRUE(has(with_weights(with_number<u32>(20, 13)), "bump-size"));
  EXPECT_TRUE(has(with_weights(with_number<u8>(150, 1)), "bump-reserved"));
  EXPECT_TRUE(has(with_weights(with_number<u8>(157, 200)), "bump-size"));
}

TEST_F(Bump5Rules, AnOutputHeadWhoseCodeIsWrong) {
  write(small("llama"), traits(), true);
  const VerifyReport report = with_weights(with_number<u8>(157, 0), true);
  EXPECT_EQ(report.errors, 0u) << text(report);
  EXPECT_EQ(report.warnings, 1u) << text(report);
  EXPECT_TRUE(has(report, "bump-dtype"));
}

TEST_F(Bump5Rules, LayoutsThatOnlyTheManifestKnows) {
  const auto rename = [](std::string text) {
    for (const std::string_view from : {"layer.0.wq", "layer.0.bq"}) {
      for (std::size_t at; (at = text.find(from)) != std::string::npos;) text.replace(at, from.size(), "layer.0.ssm");
    }
    return text;
  };
  std::string one = files_.manifest;
  one.replace(one.find("layer.0.wq"), 10, "layer.0.ssm_a");
  folder_.write("weights_manifest.json", one);
  folder_.write("weights_manifest.map", rename(files_.map));
  const std::string odd = with_number<u32>(44, 999);  // a head_dim that matches nothing
  const VerifyReport report = with_weights(odd);
  EXPECT_TRUE(has(report, "bump-layout")) << text(report);
  EXPECT_FALSE(has(report, "bump-size")) << text(report);
  EXPECT_EQ(report.tensors, files_.entries.size());
  std::string gap = one;
  gap.replace(gap.find("\"size\": 1088"), 12, "\"size\": 1087");
  folder_.write("weights_manifest.json", gap);
  EXPECT_TRUE(has(verify(), "bump-size"));
}

TEST_F(Bump5Rules, AgainstAnotherSource) {
  LlamaModel model = test::bump5_model(small("llama"), traits());
  model.tensor("blk.0.ffn_up.weight").data[5] ^= 4;
  model.rms_eps = 1e-6f;
  model.add("rope_freqs.weight", {8}, test::ggml_f32);
  model.remove("blk.0.attn_q.bias");
  folder_.write("model.gguf", model.build());
  VerifyReport report = verify(true);
  EXPECT_TRUE(has(report, "parity-differs", "entry layer.0.w1")) << text(report);
  EXPECT_TRUE(has(report, "parity-differs", "entry layer.0.bq")) << text(report);
  EXPECT_TRUE(has(report, "parity-field", "manifest config rms_eps")) << text(report);
  EXPECT_TRUE(has(report, "parity-not-carried", "rope_freqs.weight")) << text(report);
  EXPECT_EQ(report.errors, 3u) << text(report);

  model = test::bump5_model(small("llama"), traits());
  model.add("output.weight", {32, 12}, test::ggml_q8_0);
  folder_.write("model.gguf", model.build());
  EXPECT_TRUE(has(verify(true), "parity-size", "entry output.weight"));
  LlamaShape wide = small("llama");
  wide.weight_type = test::ggml_q5_0;
  folder_.write("model.gguf", test::bump5_model(wide, traits()).build());
  EXPECT_TRUE(has(verify(true), "parity-field", "entry layer.0.wq"));
  LlamaShape longer = small("llama");
  longer.context = 40;
  folder_.write("model.gguf", test::bump5_model(longer, traits()).build());
  report = verify(true);
  EXPECT_TRUE(has(report, "parity-context"));
  EXPECT_EQ(report.errors, 0u) << text(report);
  folder_.write("model.gguf", test::bump5_model(small("gemma2"), traits()).build());
  EXPECT_GT(verify(true).errors, 0u);
}

// The entry itself is valid.
TEST_F(Bump5Rules, AnEntryThatTheSourceMakesLonger) {
  Bump5Traits with_tokens = traits();
  with_tokens.vocabulary = test::tiny_tokens("gpt2");
  write(small("llama"), with_tokens);
  EXPECT_EQ(verify(true).errors, 0u) << text(verify(true));
  with_tokens.vocabulary.merges.push_back(with_tokens.vocabulary.merges.front());
  folder_.write("model.gguf", test::bump5_model(small("llama"), with_tokens).build());
  const VerifyReport report = verify(true);
  EXPECT_TRUE(has(report, "parity-size", "entry vocab_merges")) << text(report);
}

TEST_F(Bump5Rules, TypesThatTheSourceHasItself) {
  // Upstream's converter copies Q4_0: the same bytes, although no kernel computes with them.
  LlamaShape shape = small("llama");
  shape.weight_type = shape.down_type = test::ggml_q4_0;
  Bump5Traits own = traits();
  own.as_is = true;
  write(shape, own);
  const VerifyReport report = verify(true);
  EXPECT_TRUE(report.findings.empty()) << text(report);
  EXPECT_TRUE(has(with_weights(with_number<u8>(offset_of("layer.0.w1") + 7, 0xFE), true), "parity-differs", "w1"));
}

}  // namespace
}  // namespace modelutils

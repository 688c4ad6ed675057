// Compares the converter with the reference writer on generated models.
#include "convert/to_bump/gguf_to_bump.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "io/hash.h"
#include "json/reader.h"
#include "support/llama_model.h"
#include "support/reference_bump.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::LlamaModel;
using test::LlamaShape;
using test::read_file;
using test::TempDir;

GgufToBumpOptions options_for(const TempDir& folder, const std::string& model) {
  GgufToBumpOptions options;
  options.input = folder.write("model.gguf", model);
  options.output = folder.file("weights.bump");
  return options;
}

Result<GgufToBumpReport> convert(const GgufToBumpOptions& options) {
  Progress silent;
  return convert_gguf_to_bump(options, silent);
}

// Returns the converter's file; reports conversion errors as test failures.
std::string converted(const GgufToBumpOptions& options) {
  const auto report = convert(options);
  EXPECT_TRUE(report) << report.error().message;
  if (!report) return {};
  for (const Error& refusal : report->refusals) ADD_FAILURE() << refusal.where << ": " << refusal.message;
  return report->refusals.empty() ? read_file(*options.output) : std::string();
}

// Reports differences per entry, because megabytes of bytes in a failure message do not help.
void expect_equal(const std::string& found, const test::ReferenceBump& expected) {
  EXPECT_EQ(found.size(), expected.bytes.size());
  EXPECT_EQ(found.substr(0, 0x80), expected.bytes.substr(0, 0x80)) << "header";
  for (const test::ReferenceEntry& entry : expected.entries) {
    EXPECT_TRUE(found.substr(std::min<u64>(entry.offset, found.size()), entry.bytes.size()) == entry.bytes)
        << entry.name;
  }
  EXPECT_TRUE(found == expected.bytes);
}

json::Object whole_object(json::Element value) {
  json::Object object;
  EXPECT_TRUE(value.get(object));
  return object;
}

struct WeightType {
  u32 type;
  u64 block;
  bool only_renumbered;
};

constexpr WeightType weight_types[] = {
    {test::ggml_f32, 1, false},    {test::ggml_bf16, 1, false},  {test::ggml_f16, 1, false},
    {test::ggml_i8, 1, false},     {test::ggml_q4_0, 32, false}, {test::ggml_q4_k, 256, false},
    {test::ggml_q6_k, 256, false}, {test::ggml_q8_0, 32, false}, {test::ggml_q4_1, 32, true},
    {test::ggml_q8_k, 256, true},  {test::ggml_q5_0, 32, true},  {test::ggml_q5_1, 32, true},
    {test::ggml_q5_k, 256, true},
};

TEST(GgufToBump, EveryWeightTypeInBothNumberings) {
  for (const WeightType& type : weight_types) {
    for (bool renumbered : {false, true}) {
      LlamaShape shape;
      shape.embed = 256;
      shape.intermediate = 512;
      shape.head_dim = 64;
      shape.weight_type = shape.down_type = type.type;
      const LlamaModel model(shape);
      const TempDir folder;
      GgufToBumpOptions options = options_for(folder, model.build());
      if (renumbered) options.request.numbering = bump::Numbering::renumbered;
      if (type.only_renumbered && !renumbered) {
        const auto report = convert(options);
        ASSERT_TRUE(report);
        ASSERT_FALSE(report->refusals.empty());
        EXPECT_EQ(report->refusals[0].code, "gguf2bump-type");
        EXPECT_NE(report->refusals[0].where.find("token_embd.weight"), std::string::npos);
        EXPECT_NE(report->refusals[0].message.find("--dtype-codes renumbered"), std::string::npos);
        EXPECT_FALSE(std::filesystem::exists(*options.output));
        continue;
      }
      expect_equal(converted(options), test::reference_bump(model, {1, 0, renumbered}));
    }
  }
}

TEST(GgufToBump, RandomModels) {
  std::mt19937 random(7);
  const auto one_of = [&](auto... values) {
    const u64 all[] = {static_cast<u64>(values)...};
    return all[random() % std::size(all)];
  };
  for (u32 round = 0; round < 50; ++round) {
    const WeightType& type = weight_types[random() % std::size(weight_types)];
    const WeightType& down = weight_types[random() % std::size(weight_types)];
    LlamaShape s;
    s.seed = round + 1;
    s.layers = 1 + random() % 5;
    s.vocab = 1 + random() % 40;
    s.kv_heads = one_of(1, 2, 3, 4);
    s.heads = s.kv_heads * one_of(1, 2, 4);
    const u64 block = std::max<u64>(type.block, 1);
    s.embed = block * (1 + random() % 3) * (block == 1 ? 8 : 1);
    s.head_dim = one_of(8, 10, 16, 32, 64);
    while (s.head_dim * s.heads % block != 0) s.head_dim *= 2;  // rows of attn_output must be whole blocks
    s.intermediate = std::max<u64>(down.block, 1) * (1 + random() % 3) * (down.block == 1 ? 7 : 1);
    s.context = 1 + random() % 50;
    s.weight_type = type.type;
    s.down_type = down.type;
    s.norm_type = static_cast<u32>(one_of(test::ggml_f32, test::ggml_f16, test::ggml_bf16));
    s.qkv_bias = random() % 2 == 0;
    s.output_bias = random() % 2 == 0;
    s.mlp_bias = random() % 2 == 0;
    s.architecture = s.qkv_bias ? "qwen2" : "llama";
    LlamaModel model(s);
    model.alignment = one_of(8, 32, 64, 4096);
    model.version = static_cast<u32>(one_of(2, 3));
    test::ReferenceOptions wanted;
    wanted.renumbered = type.only_renumbered || down.only_renumbered || random() % 2 == 0;
    wanted.context = random() % 3 == 0 ? 1 + random() % 100 : 0;
    wanted.split_halves = random() % 2 == 0;
    if (s.head_dim % block == 0) wanted.align_head = one_of(1, 1, block * 2, block * 3);
    SCOPED_TRACE(fmt::format("round {}: type {}, down {}, norm {}, {} layers, {} heads of {}, {} kv, align {}", round,
                             type.type, down.type, s.norm_type, s.layers, s.heads, s.head_dim, s.kv_heads,
                             wanted.align_head));
    const TempDir folder;
    GgufToBumpOptions options = options_for(folder, model.build());
    options.request.align_head = wanted.align_head;
    options.request.split_halves = wanted.split_halves;
    options.request.numbering = wanted.renumbered ? bump::Numbering::renumbered : bump::Numbering::original;
    if (wanted.context != 0) options.request.context = wanted.context;
    expect_equal(converted(options), test::reference_bump(model, wanted));
    if (testing::Test::HasFailure()) return;
  }
}

TEST(GgufToBump, NotesWhatTheRuntimeReadsOtherwise) {
  const auto note = [](const char* architecture, u32 type) {
    LlamaShape shape;
    shape.architecture = architecture;
    shape.qkv_bias = shape.architecture == "qwen2";
    shape.weight_type = type;
    const TempDir folder;
    Progress silent;
    const auto report = convert_gguf_to_bump(options_for(folder, LlamaModel(shape).build()), silent);
    EXPECT_TRUE(report);
    return report && !report->notes.empty() ? report->notes.front() : std::string();
  };
  const auto says = [](const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; };
  const std::string both = note("llama", test::ggml_f32);
  EXPECT_TRUE(says(both, "adjacent pairs") && says(both, "F32 wo") && says(both, "wrong results")) << both;
  const std::string pairs = note("llama", test::ggml_q8_0);
  EXPECT_TRUE(says(pairs, "adjacent pairs") && !says(pairs, "F32 wo") && says(pairs, "wrong results")) << pairs;
  const std::string wo = note("qwen2", test::ggml_f32);
  EXPECT_TRUE(!says(wo, "adjacent pairs") && says(wo, "F32 wo") && says(wo, "wrong results")) << wo;
  EXPECT_EQ(note("qwen2", test::ggml_q8_0), "");
}

TEST(GgufToBump, LargerThanItsBuffers) {
  LlamaShape shape;
  shape.vocab = 3000;
  shape.embed = 512;
  shape.context = 3000;  // 6 MB of zeros, stored as holes
  shape.intermediate = 1024;
  shape.heads = 8;
  shape.head_dim = 64;
  shape.weight_type = test::ggml_f16;
  shape.norm_type = test::ggml_bf16;
  const LlamaModel model(shape);
  const TempDir folder;
  const GgufToBumpOptions options = options_for(folder, model.build());
  expect_equal(converted(options), test::reference_bump(model));

  GgufToBumpOptions padded = options;
  padded.request.align_head = 96;
  padded.force = true;
  expect_equal(converted(padded), test::reference_bump(model, {96, 0, false}));
  const auto report = convert(padded);
  ASSERT_TRUE(report);
  ASSERT_TRUE(report->disk_bytes);
  EXPECT_LE(*report->disk_bytes, report->mapping.file_size + 65536);
}

TEST(GgufToBump, SplitModels) {
  LlamaShape shape;
  shape.layers = 3;
  const LlamaModel model(shape);
  const std::vector<std::string> files = model.build_split(3);
  const TempDir folder;
  for (u32 i = 0; i < 3; ++i) folder.write(fmt::format("m-{:05}-of-00003.gguf", i + 1), files[i]);
  GgufToBumpOptions options;
  options.input = folder.file("m-00001-of-00003.gguf");
  options.output = folder.file("weights.bump");
  expect_equal(converted(options), test::reference_bump(model));

  std::filesystem::remove(folder.file("m-00003-of-00003.gguf"));
  options.output = folder.file("other.bump");
  const auto incomplete = convert(options);
  ASSERT_FALSE(incomplete);
  EXPECT_EQ(incomplete.error().kind, ErrorKind::input);
}

TEST(GgufToBump, DevicesAreWrittenInPlace) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no /dev";
  const TempDir folder;
  GgufToBumpOptions options = options_for(folder, LlamaModel(LlamaShape{}).build());
  options.output = "/dev/null";
  Progress progress;
  const auto report = convert_gguf_to_bump(options, progress);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_FALSE(report->paths.config);  // no /dev/config.json
  EXPECT_FALSE(report->disk_bytes);
  EXPECT_EQ(progress.done(), report->mapping.file_size);
}

TEST(GgufToBump, ManifestHashesEveryEntry) {
  const LlamaModel model(LlamaShape{});
  const TempDir folder;
  GgufToBumpOptions options = options_for(folder, model.build());
  options.manifest = folder.file("manifest.json");
  converted(options);
  const test::ReferenceBump expected = test::reference_bump(model);
  const auto manifest = json::load(*options.manifest);
  ASSERT_TRUE(manifest);
  const auto dimensions = json::member((*manifest)->root, "dimensions");
  ASSERT_TRUE(dimensions);
  EXPECT_EQ(json::u64_member(*dimensions, "num_layers"), 2u);
  EXPECT_EQ(json::u64_member(*dimensions, "num_kv_heads"), 2u);
  EXPECT_EQ(json::u64_member(*dimensions, "intermediate_size"), 96u);
  const auto entries = json::array_member((*manifest)->root, "entries");
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), expected.entries.size());
  std::size_t i = 0;
  for (const json::Element entry : *entries) {
    const test::ReferenceEntry& wanted = expected.entries[i++];
    EXPECT_EQ(json::string_member(entry, "name"), wanted.name);
    EXPECT_EQ(json::u64_member(entry, "file_offset"), wanted.offset);
    EXPECT_EQ(json::u64_member(entry, "size"), wanted.bytes.size());
    Hasher hasher(HashAlgorithm::sha256);
    hasher.update(std::as_bytes(std::span(wanted.bytes)));
    EXPECT_EQ(json::string_member(entry, "sha256"), hasher.hex_digest());
  }
  const json::Element w1 = entries->at(12).value();
  EXPECT_EQ(json::string_member(w1, "name"), "layer.0.w1");
  EXPECT_EQ(json::string_member(w1, "source"), "blk.0.ffn_gate.weight");
  EXPECT_EQ(json::string_member(w1, "dtype"), "q8_0");
  EXPECT_EQ(json::array_member(w1, "sources")->size(), 2u);
  EXPECT_FALSE(json::member(entries->at(1).value(), "source"));  // null for pos_emb
}

TEST(GgufToBump, GoldenFilesOfTheUpstreamConverter) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  const std::string corpus = test::shared_dir() + "/corpus/bump/";
  const auto expected = json::load(corpus + "expected.json");
  ASSERT_TRUE(expected);
  for (const auto& [name, wanted] : whole_object((*expected)->root)) {
    const TempDir folder;
    GgufToBumpOptions options;
    options.input = corpus + std::string(*json::string_member(wanted, "gguf"));
    options.output = folder.file("weights.bump");
    Hasher hasher(HashAlgorithm::sha256);
    const std::string bytes = converted(options);
    hasher.update(std::as_bytes(std::span(bytes)));
    EXPECT_EQ(hasher.hex_digest(), *json::string_member(wanted, "bump_sha256")) << name;

    // The eleven keys come first, in this order and with these values.
    const auto config = json::load(folder.file("config.json"));
    ASSERT_TRUE(config);
    const json::Object wanted_keys = *json::object_member(wanted, "config");
    const json::Object found_object = whole_object((*config)->root);
    auto found_key = found_object.begin();
    for (const auto& [key, value] : wanted_keys) {
      ASSERT_NE(found_key, found_object.end());
      EXPECT_EQ((*found_key).key, key);
      double number = 0, other = 0;
      if (value.get(number)) {
        ASSERT_TRUE((*found_key).value.get(other)) << key;
        EXPECT_EQ(number, other) << key;
      } else {
        EXPECT_EQ(value.text(), (*found_key).value.text()) << key;
      }
      ++found_key;
    }
  }
}

}  // namespace
}  // namespace modelutils

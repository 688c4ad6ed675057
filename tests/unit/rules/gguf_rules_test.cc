// For each GGUF rule, a file that breaks only this rule, and one that just complies.
#include "rules/gguf/rules.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/text.h"
#include "formats/gguf/parse.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::BuilderTensor;
using test::GgufBuilder;

gguf::SplitSet set_of(const GgufBuilder& builder) {
  auto source = builder.source();
  auto document = gguf::parse(*source);
  EXPECT_TRUE(document.has_value());
  gguf::SplitSet set;
  set.files.push_back({"built.gguf", source, std::move(*document)});
  return set;
}

FindingLog rules(const GgufBuilder& builder) {
  return gguf_structure_rules(set_of(builder));
}

// Returns "error gguf-x, warning gguf-y" in order, without notes.
std::string summary(const FindingLog& log) {
  std::string text;
  for (const Finding& finding : log.findings()) {
    if (finding.severity == Severity::note) continue;
    if (!text.empty()) text += ", ";
    text += std::string(severity_name(finding.severity)) + " " + finding.code;
  }
  return text;
}

std::string broken(const GgufBuilder& builder) {
  return summary(rules(builder));
}

// A valid model of an unknown architecture, for planting a single fault.
GgufBuilder base() {
  return GgufBuilder().key_string("general.architecture", "test");
}
GgufBuilder sound() {
  return base().f32_tensor("blk.0.weight", {8, 4}).f32_tensor("blk.1.weight", {8, 4});
}

std::string bytes(std::size_t count) {
  return std::string(count, '\0');
}
BuilderTensor tensor(std::string name, std::vector<u64> ne, u32 type, std::size_t size) {
  return {.name = std::move(name), .ne = std::move(ne), .type = type, .data = bytes(size)};
}

TEST(GgufRules, SoundFilesHaveNoFindings) {
  EXPECT_EQ(broken(sound()), "");
  EXPECT_EQ(broken(base()), "");
  EXPECT_EQ(broken(sound().version(2)), "");
  EXPECT_EQ(broken(base().key_u32("general.alignment", 64).layout_alignment(64).f32_tensor("t", {3})), "");
}

TEST(GgufRules, EmptyFileIsAWarning) {
  EXPECT_EQ(broken(GgufBuilder()), "warning gguf-empty");
}

TEST(GgufRules, FilesWithoutTensorsAreNoted) {
  const Findings findings = rules(base()).findings();
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "gguf-no-tensors");
  EXPECT_EQ(findings[0].severity, Severity::note);
}

TEST(GgufRules, KeyNames) {
  EXPECT_EQ(broken(sound().key_u32("a", 1).key_u32("b", 1).key_u32("a", 2)), "error gguf-key-duplicate");
  EXPECT_EQ(broken(sound().key_u32("", 1)), "error gguf-key-empty");
  EXPECT_EQ(broken(sound().key_u32(std::string(65535, 'a'), 1)), "");
  EXPECT_EQ(broken(sound().key_u32(std::string(65536, 'a'), 1)), "warning gguf-key-length");
  EXPECT_EQ(broken(sound().key_u32("My Key", 1)), "warning gguf-key-style");
  EXPECT_EQ(broken(sound().key_u32("mod\xc3\xa8le", 1)), "warning gguf-key-style");
  EXPECT_EQ(broken(sound().key_u32("a\xff", 1)), "warning gguf-key-text");
  EXPECT_EQ(broken(sound().key_u32("a\x1b[31m", 1)), "warning gguf-key-text");
  EXPECT_EQ(broken(sound().key_u32(std::string_view("a\0b", 3), 1)), "warning gguf-key-text");
  EXPECT_EQ(broken(sound().key_u32(std::string_view("general.alignment\0x", 19), 64)),
            "warning gguf-key-text, error gguf-key-ambiguous");
  EXPECT_EQ(broken(sound().key_u32("a", 1).key_u32(std::string_view("a\0b", 3), 1)),
            "warning gguf-key-text, error gguf-key-ambiguous");
  EXPECT_EQ(broken(sound().key_u32(std::string_view("a\0x", 3), 1).key_u32(std::string_view("a\0y", 3), 1)),
            "warning gguf-key-text, warning gguf-key-text, error gguf-key-ambiguous");
  EXPECT_EQ(broken(sound().key_u32(std::string_view("a\0x", 3), 1).key_u32(std::string_view("b\0x", 3), 1)),
            "warning gguf-key-text, warning gguf-key-text");
}

TEST(GgufRules, DuplicatesNameTheFirst) {
  const Findings findings = rules(base().key_u32("a", 1).key_u32("a", 2)).findings();
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].where, "key 'a'");
  EXPECT_NE(findings[0].message.find("first at byte 68"), std::string::npos) << findings[0].message;
}

TEST(GgufRules, Alignment) {
  const auto with = [](u32 alignment, u64 layout) {
    return broken(base().key_u32("general.alignment", alignment).layout_alignment(layout).f32_tensor("t", {32}));
  };
  for (const u32 good : {8u, 16u, 32u, 64u, 4096u}) EXPECT_EQ(with(good, good), "") << good;
  EXPECT_EQ(with(24, 24), "warning gguf-alignment-odd");
  EXPECT_EQ(with(4, 4), "warning gguf-alignment-odd");
  EXPECT_EQ(with(1, 1), "warning gguf-alignment-odd");
  EXPECT_EQ(with(0, 32), "error gguf-alignment");
  EXPECT_EQ(with(13, 32), "error gguf-alignment");
  EXPECT_EQ(broken(base().key_u64("general.alignment", 32).f32_tensor("t", {32})), "error gguf-alignment-type");
  EXPECT_EQ(broken(base().key_string("general.alignment", "32").f32_tensor("t", {32})), "error gguf-alignment-type");
  EXPECT_EQ(broken(base().key_array<u32>("general.alignment", {32}).f32_tensor("t", {32})),
            "error gguf-alignment-type");
}

TEST(GgufRules, TensorNames) {
  EXPECT_EQ(broken(base().f32_tensor(std::string(63, 'n'), {8})), "");
  EXPECT_EQ(broken(base().f32_tensor(std::string(64, 'n'), {8})), "error gguf-tensor-name-length");
  EXPECT_EQ(broken(base().f32_tensor("", {8})), "warning gguf-tensor-name-empty");
  EXPECT_EQ(broken(base().f32_tensor("a\x07", {8})), "warning gguf-tensor-name-text");
  EXPECT_EQ(broken(base().f32_tensor("a\xe2\x80\xae", {8})), "warning gguf-tensor-name-text");
  EXPECT_EQ(broken(base().f32_tensor("a", {8}).f32_tensor("b", {8}).f32_tensor("a", {8})),
            "error gguf-tensor-duplicate");
  const auto two = [](std::string_view first, std::string_view second) {
    return broken(base().f32_tensor(std::string(first), {8}).f32_tensor(std::string(second), {8}));
  };
  using namespace std::string_view_literals;
  EXPECT_EQ(two("a"sv, "a\0x"sv), "warning gguf-tensor-name-text, error gguf-tensor-ambiguous");
  EXPECT_EQ(two("a\0x"sv, "a\0y"sv),
            "warning gguf-tensor-name-text, warning gguf-tensor-name-text, error gguf-tensor-ambiguous");
  EXPECT_EQ(two("a\0x"sv, "b\0x"sv), "warning gguf-tensor-name-text, warning gguf-tensor-name-text");
}

TEST(GgufRules, Dimensions) {
  EXPECT_EQ(broken(base().f32_tensor("t", {2, 2, 2, 2})), "");
  EXPECT_EQ(broken(base().tensor(tensor("t", {}, 0, 4))), "warning gguf-dims-none");
  EXPECT_EQ(broken(base().tensor(tensor("t", {4, 0}, 0, 0))), "warning gguf-dim-zero");
  EXPECT_EQ(broken(base().tensor(tensor("t", {~u64{0}}, 0, 32))), "error gguf-dim-negative");
  EXPECT_EQ(broken(base().tensor(tensor("t", {2, 2, 2, 2, 2}, 0, 128))), "error gguf-n-dims");
}

// Image models have readers of their own.
TEST(GgufRules, LimitsOfImageModels) {
  const auto wan = [] { return GgufBuilder().key_string("general.architecture", "wan"); };
  EXPECT_EQ(broken(wan().f32_tensor("t", {2, 2, 2, 2, 2})), "");
  EXPECT_EQ(broken(wan().f32_tensor("t", {2, 2, 2, 2, 2, 1})), "error gguf-n-dims");
  EXPECT_EQ(broken(wan().f32_tensor("t", {2, 2, 2, 2, 0})), "warning gguf-dim-zero");
  EXPECT_EQ(broken(wan().tensor(tensor("t", {2, 2, 2, 2, ~u64{0}}, 0, 32))), "error gguf-dim-negative");
  const u64 two13 = u64{1} << 13;
  EXPECT_EQ(broken(wan().tensor(tensor("t", {two13, two13, two13, two13, two13}, 0, 32))), "error gguf-tensor-size");
  EXPECT_EQ(broken(wan().f32_tensor(std::string(127, 'n'), {8})), "");
  EXPECT_EQ(broken(wan().f32_tensor(std::string(128, 'n'), {8})), "warning gguf-tensor-name-length");
  const Findings notes = rules(wan().f32_tensor(std::string(64, 'n'), {8})).findings();
  ASSERT_EQ(notes.size(), 1u);
  EXPECT_EQ(notes[0].severity, Severity::note);
  EXPECT_EQ(notes[0].code, "gguf-tensor-name-length");
}

TEST(GgufRules, SizesThatWrap) {
  const auto with = [](std::vector<u64> ne, u32 type) {
    return broken(base().tensor({.name = "t", .ne = std::move(ne), .type = type}));
  };
  const u64 two32 = u64{1} << 32;
  EXPECT_EQ(with({two32, two32}, 0), "error gguf-tensor-size");
  EXPECT_EQ(with({two32, two32, 0}, 0), "warning gguf-dim-zero, error gguf-tensor-size");
  EXPECT_EQ(with({0, two32, two32}, 0), "warning gguf-dim-zero");
  EXPECT_EQ(with({u64{1} << 61}, 0), "error gguf-tensor-size");
  EXPECT_EQ(with({u64{1} << 62}, 24), "error gguf-data-truncated");
  EXPECT_EQ(with({(u64{1} << 62) + 8, 4}, 24), "error gguf-tensor-size");
}

TEST(GgufRules, TypesAndRows) {
  EXPECT_EQ(broken(base().key_u32("general.quantization_version", 2).tensor(tensor("t", {32}, 2, 18))), "");
  EXPECT_EQ(broken(base().key_u32("general.quantization_version", 2).tensor(tensor("t", {33}, 2, 36))),
            "error gguf-row-size");
  EXPECT_EQ(broken(base().tensor(tensor("t", {32}, 2, 18))), "warning gguf-quantization-version");
  for (const u32 id : {4u, 5u, 43u, 0x80000000u}) {
    EXPECT_EQ(broken(base().tensor(tensor("t", {32}, id, 32))), "error gguf-tensor-type") << id;
  }
  // Types that were removed from ggml, and a fork's: their sizes fit.
  for (const u32 id : {31u, 32u, 33u, 36u, 37u, 38u, 100u}) {
    EXPECT_EQ(broken(base().tensor(tensor("t", {32}, id, 32))), "warning gguf-fork-type") << id;
  }
}

TEST(GgufRules, OffsetsOfTensors) {
  const auto two = [](u64 first, u64 second) {
    return base()
        .tensor({.name = "a", .ne = {32}, .type = 0, .data = bytes(128), .offset = first})
        .tensor({.name = "b", .ne = {32}, .type = 0, .data = bytes(128), .offset = second});
  };
  EXPECT_EQ(broken(two(0, 128)), "");
  EXPECT_EQ(broken(two(128, 0)), "error gguf-tensor-order");
  EXPECT_EQ(broken(two(0, 0)), "error gguf-tensor-overlap, warning gguf-trailing-bytes");
  EXPECT_EQ(broken(two(0, 96)), "error gguf-tensor-overlap, warning gguf-trailing-bytes");
  EXPECT_EQ(broken(two(0, 64).trailing(bytes(0))), "error gguf-tensor-overlap, warning gguf-trailing-bytes");
  EXPECT_EQ(broken(two(0, 160).trailing(bytes(32))), "error gguf-tensor-gap");
  EXPECT_EQ(broken(two(0, 130).trailing(bytes(32))), "error gguf-tensor-unaligned, error gguf-tensor-gap");
  EXPECT_EQ(broken(two(32, 160).trailing(bytes(32))), "error gguf-tensor-gap");
  for (const u64 wild : {u64{1} << 62, u64{1} << 63, ~u64{0} - 31}) {
    const std::string found = broken(two(0, wild));
    EXPECT_TRUE(found.starts_with("error gguf-data-truncated")) << found;
  }
}

TEST(GgufRules, EmptyTensorsStandWhereTheOnesBeforeThemEnd) {
  const auto with = [](u64 offset) {
    return broken(base()
                      .f32_tensor("a", {32})
                      .tensor({.name = "e", .ne = {4, 0}, .type = 0, .offset = offset})
                      .tensor({.name = "b", .ne = {32}, .type = 0, .data = bytes(128), .offset = 128}));
  };
  EXPECT_EQ(with(128), "warning gguf-dim-zero");
  EXPECT_EQ(with(0), "warning gguf-dim-zero, error gguf-tensor-offset");
}

TEST(GgufRules, TensorsOfUnknownSizeMakeNoGaps) {
  EXPECT_EQ(broken(base().tensor(tensor("x", {32}, 200, 320)).f32_tensor("b", {32})), "error gguf-tensor-type");
}

TEST(GgufRules, DataThatIsCutOffIsOneFinding) {
  const std::string file = sound().build();
  const auto cut = [&](std::size_t missing) {
    const auto part = std::as_bytes(std::span(file)).first(file.size() - missing);
    const auto source = std::make_shared<MemoryFile>(std::vector<std::byte>(part.begin(), part.end()));
    gguf::SplitSet set;
    set.files.push_back({"cut.gguf", source, *gguf::parse(*source)});
    return gguf_structure_rules(set);
  };
  EXPECT_EQ(summary(cut(1)), "error gguf-data-truncated");
  const FindingLog both = cut(256);
  EXPECT_EQ(summary(both), "error gguf-data-truncated");
  EXPECT_NE(both.findings()[0].message.find("; 2 of 2 tensors are missing or cut off"), std::string::npos);
  EXPECT_TRUE(both.findings()[0].leads);
  EXPECT_EQ(summary(cut(257)), "error gguf-data-truncated");  // including the header's padding
  const std::string first = cut(1).findings()[0].message;
  EXPECT_EQ(first, incomplete_text(file.size() - 1, file.size()) + "; 1 of 2 tensors is missing or cut off");
}

TEST(GgufRules, PaddingAndTail) {
  EXPECT_EQ(broken(base().f32_tensor("a", {3}).without_end_padding()), "warning gguf-last-padding");
  EXPECT_EQ(broken(sound().trailing("x")), "warning gguf-trailing-bytes");
  EXPECT_EQ(broken(base().f32_tensor("a", {3}).f32_tensor("b", {3}).padding('x')),
            "warning gguf-padding, warning gguf-padding, warning gguf-padding");
  const FindingLog second = rules(sound().trailing(sound().build()));
  EXPECT_EQ(summary(second), "warning gguf-trailing-bytes");
  EXPECT_NE(second.findings().back().message.find("a second GGUF file starts at byte"), std::string::npos);
}

TEST(GgufRules, BigEndianIsAWarning) {
  EXPECT_EQ(broken(sound().big_endian()), "warning gguf-big-endian");
}

TEST(GgufRules, ArchitectureAndItsAbsence) {
  EXPECT_EQ(broken(GgufBuilder().key_u32("a", 1).f32_tensor("t", {8})), "warning gguf-architecture-missing");
  EXPECT_EQ(broken(GgufBuilder().key_string("general.architecture", "").f32_tensor("t", {8})),
            "warning gguf-architecture-missing");
  const FindingLog log = rules(GgufBuilder().key_u32("general.architecture", 1).f32_tensor("t", {8}));
  EXPECT_EQ(summary(log), "error gguf-architecture-type");
  EXPECT_EQ(first_container_error(log), nullptr);
}

// llama.cpp: "key qwen3vl.rope.dimension_sections has wrong array length; expected 4, got 3".
TEST(GgufRules, LengthsOfKnownKeys) {
  const auto sections = [](const char* architecture, std::vector<i32> values) {
    return GgufBuilder()
        .key_string("general.architecture", architecture)
        .key_array<i32>(std::string(architecture) + ".rope.dimension_sections", std::move(values))
        .f32_tensor("t", {8});
  };
  const auto is_reported = [&](const char* architecture, std::vector<i32> values) {
    return broken(sections(architecture, std::move(values))).find("gguf-key-elements") != std::string::npos;
  };
  EXPECT_TRUE(is_reported("qwen3vl", {8, 4, 4}));
  EXPECT_FALSE(is_reported("qwen3vl", {8, 4, 4, 0}));
  EXPECT_FALSE(is_reported("llama", {8, 4, 4})) << "its loader does not look at it";
}

TEST(GgufRules, TypesOfKnownKeys) {
  EXPECT_EQ(broken(sound().key_u64("test.context_length", 1)), "warning gguf-key-type");
  EXPECT_EQ(broken(sound().key_u32("test.context_length", 1)), "");
  EXPECT_EQ(broken(sound().key_u64("other.context_length", 1)), "");
  EXPECT_EQ(broken(sound().key_array<i32>("test.attention.head_count", {1, 2})), "");
  EXPECT_EQ(broken(sound().key_array<u64>("test.attention.head_count", {1, 2})), "warning gguf-key-type");
  EXPECT_EQ(broken(sound().key_f64("test.rope.freq_base", 1e4)), "warning gguf-key-type");
  EXPECT_EQ(broken(sound().key_i32("tokenizer.ggml.eos_token_id", 1)), "warning gguf-key-type");
  // llama.cpp: "invalid gguf type for tokenizer.ggml.token_type".
  EXPECT_EQ(broken(sound().key_array<u32>("tokenizer.ggml.token_type", {1})), "warning gguf-key-type");
  EXPECT_EQ(broken(sound().key_array<i32>("tokenizer.ggml.token_type", {1})), "");
  EXPECT_EQ(broken(sound().key_u32("tokenizer.ggml.add_bos_token", 1)), "warning gguf-key-type");
  EXPECT_EQ(broken(sound().key_string("general.file_type", "1")), "warning gguf-key-type");
  EXPECT_EQ(broken(sound().key_f64("general.sampling.temp", 0.5)), "warning gguf-key-type");
  EXPECT_EQ(broken(sound().key_u32("general.sampling.top_k", 40)), "warning gguf-key-type");
  EXPECT_EQ(broken(sound().key_i32("general.sampling.top_k", 40)), "");
}

TEST(GgufRules, Values) {
  EXPECT_EQ(broken(sound().key_string("a", "caf\xe9")), "warning gguf-value-utf8");
  EXPECT_EQ(broken(sound().key_string("a", "tab\t line\r\n")), "");
  EXPECT_EQ(broken(sound().key_string("a", std::string_view("x\0y", 3))), "");
  EXPECT_EQ(broken(sound().key_string("a", "\x1b]52;c;x\x07")), "warning gguf-value-control");
  EXPECT_EQ(broken(sound().key_string("a", "\xc2\x9b")), "warning gguf-value-control");
  EXPECT_EQ(broken(sound().key_strings("a", {"x", "\xff", "\xfe"})), "warning gguf-value-utf8");
  EXPECT_EQ(broken(sound().key_f32("a", std::nanf(""))), "warning gguf-value-nan");
  EXPECT_EQ(broken(sound().key_f64("a", HUGE_VAL)), "warning gguf-value-nan");
  EXPECT_EQ(broken(sound().key_array<float>("a", {1, std::nanf("")})), "warning gguf-value-nan");
  EXPECT_EQ(broken(sound().key_bool("a", 2)), "warning gguf-bool");
}

TEST(GgufRules, HyperParametersAgainstTensors) {
  const auto llama = [](u32 blocks) {
    return GgufBuilder().key_string("general.architecture", "llama").key_u32("llama.block_count", blocks);
  };
  EXPECT_EQ(broken(llama(2).f32_tensor("blk.0.w", {8}).f32_tensor("blk.1.w", {8})), "");
  EXPECT_EQ(broken(llama(3).f32_tensor("blk.0.w", {8}).f32_tensor("blk.1.w", {8})), "error gguf-hyper-parameter");
  EXPECT_EQ(broken(base().key_u32("test.block_count", 3).f32_tensor("blk.0.w", {8})), "warning gguf-hyper-parameter");
  const auto hrm = [](u32 stacked) {  // six passes over four layers
    return GgufBuilder()
        .key_string("general.architecture", "hrm_text")
        .key_u32("hrm_text.block_count", 6)
        .key_u32("hrm_text.hrm.layers_per_stack", stacked)
        .f32_tensor("blk.0.ffn_up.weight", {8})
        .f32_tensor("blk.3.ffn_up.weight", {8});
  };
  EXPECT_EQ(broken(hrm(2)), "");
  EXPECT_EQ(broken(hrm(3)), "warning gguf-hyper-parameter");
  const auto cycles = [&](u32 high, u32 low) {
    return hrm(2).key_u32("hrm_text.hrm.h_cycles", high).key_u32("hrm_text.hrm.l_cycles", low);
  };
  EXPECT_EQ(broken(cycles(1, 2)), "");
  EXPECT_EQ(broken(cycles(2, 2)), "warning gguf-hyper-parameter");
  EXPECT_EQ(broken(cycles(UINT32_MAX, UINT32_MAX)), "warning gguf-hyper-parameter");
  EXPECT_EQ(broken(llama(3).f32_tensor("output.weight", {8})), "");
  EXPECT_EQ(broken(llama(3).key_string("general.type", "adapter").f32_tensor("blk.0.w", {8})), "");
  EXPECT_EQ(broken(llama(1).key_u32("llama.embedding_length", 16).f32_tensor("token_embd.weight", {8, 2})),
            "error gguf-hyper-parameter");
  EXPECT_EQ(broken(llama(2).key_array<u32>("llama.attention.head_count", {1, 2, 3}).f32_tensor("blk.1.w", {8})),
            "error gguf-per-layer-count");
  EXPECT_EQ(broken(llama(1).key_u32("llama.expert_count", 4).f32_tensor("blk.0.w", {8})), "error gguf-experts");
  EXPECT_EQ(broken(llama(1).key_u32("llama.expert_used_count", 4).f32_tensor("blk.0.w", {8})), "error gguf-experts");
  EXPECT_EQ(
      broken(
          llama(1).key_u32("llama.expert_count", 4).key_u32("llama.expert_used_count", 4).f32_tensor("blk.0.w", {8})),
      "");
}

TEST(GgufRules, HeadsThatLoadersCannotUse) {
  const auto heads = [](u32 count) {
    return GgufBuilder()
        .key_string("general.architecture", "llama")
        .key_u32("llama.block_count", 1)
        .key_u32("llama.embedding_length", 8)
        .key_u32("llama.attention.head_count", count)
        .f32_tensor("blk.0.w", {8});
  };
  EXPECT_EQ(broken(heads(2)), "");
  EXPECT_EQ(broken(heads(0)), "warning gguf-heads");
  EXPECT_EQ(broken(heads(3)), "warning gguf-heads");
  EXPECT_EQ(broken(heads(3).key_u32("llama.attention.key_length", 4)), "");
  EXPECT_EQ(broken(sound().key_u32("test.attention.head_count", 0)), "") << "an unknown architecture may have none";
}

TEST(GgufRules, RopeSettingsThatLoadersCannotUse) {
  for (const char* type : {"none", "linear", "yarn", "longrope"}) {
    EXPECT_EQ(broken(sound().key_string("test.rope.scaling.type", type)), "") << type;
  }
  EXPECT_EQ(broken(sound().key_string("test.rope.scaling.type", "llama3")), "warning gguf-rope");
  EXPECT_EQ(broken(sound().key_f32("test.rope.freq_base", 10000)), "");
  EXPECT_EQ(broken(sound().key_f32("test.rope.freq_base", 0)), "warning gguf-rope");
  EXPECT_EQ(broken(sound().key_f32("test.rope.freq_base_swa", -1)), "warning gguf-rope");
}

TEST(GgufRules, MissingKeysOfAKnownArchitectureAreNotes) {
  const FindingLog log = rules(GgufBuilder().key_string("general.architecture", "llama").f32_tensor("t", {8}));
  EXPECT_EQ(log.errors() + log.warnings(), 0u);
  ASSERT_EQ(log.findings().size(), 4u);
  for (const Finding& finding : log) EXPECT_EQ(finding.code, "gguf-key-missing");
}

TEST(GgufRules, ContainerFindingsAloneAreWhatDumpersNeed) {
  const gguf::SplitSet set =
      set_of(base().key_u32("a", 1).key_u32("a", 1).key_f32("b", std::nanf("")).f32_tensor("t", {8}));
  const Findings findings = gguf_container_findings(set);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].code, "gguf-key-duplicate");
  ASSERT_NE(first_container_error(findings), nullptr);
}

TEST(GgufRules, OneDuplicateAmongManyKeys) {
  GgufBuilder builder = base();
  for (int i = 0; i < 60000; ++i) builder.key_u8("k." + std::to_string(i), 1);
  builder.key_u8("k.17", 1);
  for (int i = 0; i < 20000; ++i) builder.tensor(tensor("t." + std::to_string(i), {8}, 0, 32));
  EXPECT_EQ(broken(builder), "error gguf-key-duplicate");
}

TEST(GgufRules, OfAPartAloneNothingIsSaidAboutTheModel) {
  const test::TempDir folder;
  const auto part = [](u16 number) {
    return GgufBuilder().key_u16("split.no", number).key_u16("split.count", 2).key_i32("split.tensors.count", 2);
  };
  const auto alone = [&](const GgufBuilder& builder) {
    const auto set = gguf::open_set(folder.write("renamed.gguf", builder.build()));
    return set ? summary(gguf_structure_rules(*set)) : std::string("unreadable");
  };
  EXPECT_EQ(alone(part(0)
                      .key_string("general.architecture", "llama")
                      .key_u32("llama.block_count", 2)
                      .f32_tensor("blk.0.w", {8})),
            "error gguf-split-name");
  EXPECT_EQ(alone(part(1).f32_tensor("blk.1.w", {8})), "error gguf-split-name");
}

TEST(GgufRules, FindingsOfASplitSetNameTheirFile) {
  const test::TempDir folder;
  const auto part = [](u16 number) {
    return GgufBuilder().key_u16("split.no", number).key_u16("split.count", 2).key_i32("split.tensors.count", 2);
  };
  const std::string first = folder.write(
      "m-00001-of-00002.gguf", part(0).key_string("general.architecture", "test").f32_tensor("a", {8}).build());
  folder.write("m-00002-of-00002.gguf", part(1).f32_tensor("b", {8}).trailing("x").build());
  const auto set = gguf::open_set(first);
  ASSERT_TRUE(set.has_value());
  const FindingLog log = gguf_structure_rules(*set);
  EXPECT_EQ(summary(log), "warning gguf-trailing-bytes");
  EXPECT_EQ(log.findings()[0].file, "m-00002-of-00002.gguf");
}

}  // namespace
}  // namespace modelutils

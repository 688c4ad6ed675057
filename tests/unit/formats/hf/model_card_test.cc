#include "formats/hf/model_card.h"

#include <gtest/gtest.h>

#include "formats/gguf/parse.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace modelutils {

namespace {

using Texts = std::vector<std::string>;

hf::ModelCard parse(const std::string& yaml, std::string expected_codes = "") {
  FindingLog findings;
  hf::ModelCard card = hf::parse_model_card("---\n" + yaml + "\n---\n# Title\nlicense: not-this\n", findings);
  std::string codes;
  for (const Finding& finding : findings) {
    codes += finding.code;
    EXPECT_EQ(finding.severity, Severity::note);
  }
  EXPECT_EQ(codes, expected_codes) << yaml;
  return card;
}

TEST(ModelCard, ScalarsAndLists) {
  const hf::ModelCard card = parse(
      "license: apache-2.0  # a comment\r\n"
      "license_name: \"a \\\"quoted\\\" name\"\n"
      "license_link: 'it''s here'\n"
      "library_name: mlx\n"
      "base_model: org/model\n"
      "author: somebody\n"
      "model_creator: too late\n"
      "# a comment\n"
      "tags:\n- mlx\n- 'text-generation'\n  # another\n- \"c#\"\n"
      "language:\n  - en\n  - de\n"
      "datasets: [a/b, 'c, d', \"e\"]  # three\n");
  EXPECT_EQ(card.license, "apache-2.0");
  EXPECT_EQ(card.license_name, "a \"quoted\" name");
  EXPECT_EQ(card.license_link, "it's here");
  EXPECT_EQ(card.base_models, Texts{"org/model"});
  EXPECT_EQ(card.author, "somebody");
  EXPECT_EQ(card.tags, (Texts{"mlx", "text-generation", "c#"}));
  EXPECT_EQ(card.languages, (Texts{"en", "de"}));
  EXPECT_EQ(card.datasets, (Texts{"a/b", "c, d", "e"}));
}

TEST(ModelCard, NamesInEverySpelling) {
  for (const std::string prefix : {"", "model_"}) {
    const hf::ModelCard card = parse(prefix + "name: N\n" + prefix + "author: A\n" + prefix + "organization: O\n" +
                                     prefix + "basename: B\n" + prefix + "finetune: F\n" + prefix + "version: 'V'\n" +
                                     prefix + "size_label: 7B\n" + prefix + "description: D\npipeline_tag: p\n");
    EXPECT_EQ(card.name, "N");
    EXPECT_EQ(card.author, "A");
    EXPECT_EQ(card.organization, "O");
    EXPECT_EQ(card.basename, "B");
    EXPECT_EQ(card.finetune, "F");
    EXPECT_EQ(card.version, "V");
    EXPECT_EQ(card.size_label, "7B");
    EXPECT_EQ(card.description, "D");
    EXPECT_EQ(card.pipeline_tag, "p");
  }
  EXPECT_EQ(parse("model_type: llama\ndataset: a/b").basename, "llama");
  EXPECT_EQ(parse("dataset: a/b").datasets, Texts{"a/b"});
}

TEST(ModelCard, EmptyValuesAreAbsent) {
  const hf::ModelCard card = parse("license:\nlicense_name: ~\nlicense_link: \"\"\ntags: []\nlanguage: null\n");
  EXPECT_FALSE(card.license);
  EXPECT_FALSE(card.license_name);
  EXPECT_FALSE(card.license_link);
  EXPECT_TRUE(card.tags.empty());
  EXPECT_TRUE(card.languages.empty());
}

TEST(ModelCard, NestedMapsOfOtherKeysArePassedOver) {
  const hf::ModelCard card = parse(
      "model-index:\n- name: x\n  results:\n  - task:\n      type: y\n    license: no\n"
      "widget:\n  - text: hi\nlicense: mit\n");
  EXPECT_EQ(card.license, "mit");
  EXPECT_TRUE(card.tags.empty());
}

TEST(ModelCard, BlockScalars) {
  EXPECT_EQ(parse("license_name: >-\n  one\n  two\nlicense: mit").license_name, "one two");
  EXPECT_EQ(parse("license_name: |\n  one\n\n  two\n\nlicense: mit").license_name, "one\n\ntwo");
}

TEST(ModelCard, WhatIsNotUnderstoodIsLeftOut) {
  for (const char* value : {"\"open", "'open", "\"a\" b", "&anchor x", "*alias", "!tag x", "{a: b}", "[a, b",
                            "[a, [b]]", "[a] b", "['a' b]", "[\"a", "a: b", "@x", "%x", "`x"}) {
    const hf::ModelCard card = parse(std::string("license: ") + value + "\ntags: [ok]", "hf-card-syntax");
    EXPECT_FALSE(card.license) << value;
    EXPECT_EQ(card.tags, Texts{"ok"}) << "reading goes on after " << value;
  }
  EXPECT_EQ(parse("tags:\n- a: b\n  c: d\nlicense: mit", "hf-card-syntax").license, "mit");
  EXPECT_TRUE(parse("license: &a x\nlicense_name: &b x\ntags: &c x", "hf-card-syntax").tags.empty());
}

TEST(ModelCard, FrontMatterMustBeOne) {
  FindingLog findings;
  EXPECT_FALSE(hf::parse_model_card("", findings).license);
  EXPECT_FALSE(hf::parse_model_card("license: mit\n", findings).license);
  EXPECT_FALSE(hf::parse_model_card("# T\n---\nlicense: mit\n---\n", findings).license);
  EXPECT_TRUE(findings.empty());
  EXPECT_FALSE(hf::parse_model_card("---\nlicense: mit\n", findings).license);
  EXPECT_EQ(findings.size(), 1U);
  EXPECT_FALSE(hf::parse_model_card("---\nlicense: \xff\n---\n", findings).license);
  EXPECT_EQ(findings.size(), 2U);
  EXPECT_FALSE(hf::parse_model_card("version https://git-lfs.github.com/spec/v1\n", findings).license);
  ASSERT_EQ(findings.size(), 3U);
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.code, "hf-card-syntax");
    EXPECT_EQ(finding.severity, Severity::warning);
  }
  EXPECT_EQ(hf::parse_model_card("---\r\nlicense: mit\r\n---\r\n", findings).license, "mit");
}

TEST(ModelCard, TextOverSeveralLines) {
  EXPECT_EQ(parse("license_name: one\n  two\ntags: [a,\n  b]\nlicense: mit").license_name, "one two");
  EXPECT_EQ(parse("tags: [a,\n  b]\nlicense: mit").tags, (Texts{"a", "b"}));
  EXPECT_EQ(parse("\"license\": mit\n'license_name': \"a\\u00e9\"").license_name, "aé");
}

TEST(ModelCard, DeepNestingIsNotFollowed) {
  for (const std::string& text : {std::string(1 << 19, '['), std::string(1 << 19, '{')}) {
    const hf::ModelCard card = parse("tags: " + text + "\nlicense: mit", "hf-card-syntax");
    EXPECT_TRUE(card.tags.empty());
    EXPECT_EQ(card.license, "mit");
    EXPECT_EQ(parse("other: " + text + "\nlicense: mit").license, "mit");
  }
}

TEST(ModelCard, HostileSizes) {
  FindingLog findings;
  std::string yaml = "---\ntags:\n";
  for (int i = 0; i < 50000; ++i) yaml += "- x\n";
  EXPECT_LE(hf::parse_model_card(yaml + "---\n", findings).tags.size(), 1000U);
  EXPECT_FALSE(hf::parse_model_card("---\nlicense: " + std::string(2 << 20, 'x') + "\n---\n", findings).license);
  std::string odd = "---\n";
  for (int i = 0; i < 10000; ++i) odd += "license: {}\n";
  findings = {};
  hf::parse_model_card(odd + "---\n", findings);
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0].code, "hf-card-syntax");
}

TEST(ModelCard, FromADirectory) {
  const test::TempDir dir;
  FindingLog findings;
  EXPECT_FALSE(hf::read_model_card(dir.path(), findings)->license);
  EXPECT_TRUE(findings.empty());
  dir.write("README.md", "---\nlicense: mit\n---\n");
  EXPECT_EQ(hf::read_model_card(dir.path(), findings)->license, "mit");
  const test::TempDir odd;
  odd.write("README.md/x", "a directory");
  EXPECT_EQ(hf::read_model_card(odd.path(), findings).error().code, "io-directory");
  EXPECT_EQ(hf::read_model_card(odd.path(), findings).error().file, odd.file("README.md"));
}

using test::GgufBuilder;

gguf::SplitSet set_of(const GgufBuilder& builder) {
  gguf::SplitSet set;
  const auto source = builder.source();
  set.files.push_back({"m.gguf", source, *gguf::parse(*source)});
  return set;
}

std::string card_of(const GgufBuilder& builder) {
  const auto card = hf::model_card_text(set_of(builder), {"mlx", "m.gguf", "gguf2mlx 1"});
  EXPECT_TRUE(card);
  return card ? *card : std::string();
}

TEST(ModelCardWriter, KeysBecomeFrontMatter) {
  const std::string card = card_of(GgufBuilder()
                                       .key_string("general.name", "Tiny <b>Model</b>")
                                       .key_string("general.license", "apache-2.0")
                                       .key_string("general.license.link", "https://example.org/l")
                                       .key_u32("general.base_model.count", 2)
                                       .key_string("general.base_model.0.repo_url", "https://huggingface.co/org/base")
                                       .key_string("general.base_model.1.name", "Other")
                                       .key_string("general.base_model.1.organization", "Org")
                                       .key_strings("general.tags", {"text-generation", "chat"})
                                       .key_strings("general.languages", {"en", "no"})
                                       .key_strings("general.datasets", {"org/data"})
                                       .key_string("general.description", "Small.")
                                       .key_string("general.author", "A. Uthor"));
  EXPECT_EQ(card,
            "---\n"
            "license: \"apache-2.0\"\n"
            "license_link: \"https://example.org/l\"\n"
            "base_model:\n"
            "- \"org/base\"\n"
            "- \"Org/Other\"\n"
            "library_name: \"mlx\"\n"
            "pipeline_tag: text-generation\n"
            "tags:\n"
            "- \"text-generation\"\n"
            "- \"chat\"\n"
            "- \"mlx\"\n"
            "language:\n"
            "- \"en\"\n"
            "- \"no\"\n"
            "datasets:\n"
            "- \"org/data\"\n"
            "---\n"
            "\n"
            "# Tiny \\<b\\>Model\\</b\\>\n"
            "\n"
            "Small.\n"
            "\n"
            "Made from the GGUF file `m.gguf` by gguf2mlx 1.\n"
            "\n"
            "Author: A. Uthor\n"
            "\n"
            "Licence: apache-2.0\n");
}

// Whatever a key contains, it stays a single value when the front matter is parsed again.
TEST(ModelCardWriter, HostileTextStaysOneValue) {
  const std::string licence = "x\"\n---\nlicense: mit\n\\ # \xe2\x80\xae\xf3\xa0\x80\x81 é";
  const std::string card = card_of(GgufBuilder().key_string("general.license", licence));
  FindingLog findings;
  EXPECT_EQ(hf::parse_model_card(card, findings).license, licence);
  EXPECT_TRUE(findings.empty());
}

TEST(ModelCardWriter, DatasetsComeFromTheirAddresses) {
  const std::string card =
      card_of(GgufBuilder()
                  .key_u32("general.dataset.count", 4000000000)
                  .key_string("general.dataset.0.repo_url", "https://huggingface.co/datasets/org/d")
                  .key_string("general.dataset.1.name", "Bare")
                  .key_string("general.tags", "one"));
  EXPECT_NE(card.find("datasets:\n- \"org/d\"\n- \"Bare\"\n---"), std::string::npos) << card;
  EXPECT_NE(card.find("tags:\n- \"one\"\n- \"mlx\"\n"), std::string::npos) << card;
}

TEST(ModelCardWriter, WhatIsNotUtf8IsLeftOut) {
  const std::string card =
      card_of(GgufBuilder().key_string("general.license", "\xff").key_strings("general.tags", {"\xff", "", "good"}));
  EXPECT_EQ(card,
            "---\nlibrary_name: \"mlx\"\ntags:\n- \"good\"\n- \"mlx\"\n---\n\n# m.gguf\n\n"
            "Made from the GGUF file `m.gguf` by gguf2mlx 1.\n");
}

TEST(ModelCardWriter, YamlEscapesByCodePoint) {
  EXPECT_EQ(hf::yaml_string("a\"b\\c\n"), "\"a\\\"b\\\\c\\u000a\"");
  EXPECT_EQ(hf::yaml_string("\xf3\xa0\x80\x81"), "\"\\U000e0001\"");
  EXPECT_EQ(hf::yaml_string("é😀"), "\"é😀\"");
}

}  // namespace

}  // namespace modelutils

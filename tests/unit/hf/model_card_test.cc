#include "hf/model_card.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace modelutils

#include "hf/model_card_writer.h"

#include <gtest/gtest.h>

#include "gguf/parse.h"
#include "hf/model_card.h"
#include "support/gguf_builder.h"

namespace modelutils {
namespace {

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

#include "hf/generation_config.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace modelutils {
namespace {

class GenerationConfigFile : public testing::Test {
 protected:
  hf::GenerationConfig load(const std::string& text) {
    dir.write("generation_config.json", text);
    auto config = hf::load_generation_config(dir.path());
    EXPECT_TRUE(config) << "a broken file is no error";
    return config ? std::move(*config) : hf::GenerationConfig();
  }
  hf::Sampling sampling(const std::string& text) {
    const hf::GenerationConfig config = load(text);
    findings = {};
    return hf::read_sampling(config, findings);
  }

  test::TempDir dir;
  FindingLog findings;
};

TEST_F(GenerationConfigFile, AbsentIsNothing) {
  const auto config = hf::load_generation_config(dir.path());
  ASSERT_TRUE(config);
  EXPECT_FALSE(config->root());
  EXPECT_TRUE(config->findings.empty());
  EXPECT_FALSE(hf::read_sampling(*config, findings).temperature);
}

TEST_F(GenerationConfigFile, BrokenIsAWarningAndLeftAside) {
  for (const char* text : {"", "{", "[]", "3", R"({"temperature": NaN})",
                           "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n", "\xef\xbb\xbf{}"}) {
    const hf::GenerationConfig config = load(text);
    EXPECT_FALSE(config.root()) << text;
    ASSERT_EQ(config.findings.size(), 1U) << text;
    EXPECT_EQ(config.findings[0].code, "hf-generation-config");
    EXPECT_EQ(config.findings[0].severity, Severity::warning);
  }
  EXPECT_NE(load("version https://git-lfs.github.com/spec/v1\n").findings[0].message.find("Git LFS pointer"),
            std::string::npos);
}

TEST_F(GenerationConfigFile, WhatCannotBeReadIsAnError) {
  dir.write("generation_config.json/x", "a directory");
  const auto config = hf::load_generation_config(dir.path());
  ASSERT_FALSE(config);
  EXPECT_TRUE(config.error().file.ends_with("generation_config.json"));
}

TEST_F(GenerationConfigFile, Sampling) {
  const hf::Sampling all = sampling(R"({"temperature":0.6,"top_k":20,"top_p":0.95,"min_p":0,"do_sample":true,
    "repetition_penalty":1.05})");
  EXPECT_EQ(all.temperature, 0.6F);
  EXPECT_EQ(all.top_k, 20);
  EXPECT_EQ(all.top_p, 0.95F);
  EXPECT_EQ(all.min_p, 0.0F);
  EXPECT_EQ(all.repetition_penalty, 1.05F);
  EXPECT_TRUE(findings.empty());
  const hf::Sampling some = sampling(R"({"temperature":1,"top_k":null,"top_p":null})");
  EXPECT_EQ(some.temperature, 1.0F);
  EXPECT_FALSE(some.top_k || some.top_p || some.min_p);
  EXPECT_TRUE(findings.empty());
}

TEST_F(GenerationConfigFile, WhatIsNoNumberIsLeftOut) {
  const hf::Sampling sampled = sampling(R"({"temperature":"0.6","top_k":3000000000,"top_p":1e39,"min_p":[0.1]})");
  EXPECT_FALSE(sampled.temperature || sampled.top_k || sampled.top_p || sampled.min_p);
  ASSERT_EQ(findings.size(), 4U);
  for (const Finding& finding : findings) EXPECT_EQ(finding.code, "hf-generation-config");
  EXPECT_EQ(findings[0].where, "generation_config.json: temperature");
  EXPECT_FALSE(sampling(R"({"top_k":20.5})").top_k);
  EXPECT_EQ(sampling(R"({"top_k":-1})").top_k, -1);
}

}  // namespace
}  // namespace modelutils

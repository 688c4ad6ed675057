#include "formats/hf/config_members.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/temp_dir.h"

namespace modelutils {

namespace {

using hf::ConfigMembers;
using hf::ConfigValue;

TEST(ConfigMembers, ObjectsAreMadeForNamesWithDots) {
  ConfigMembers members;
  hf::set_member(members, "rope_scaling.factor", 8.0);
  hf::set_member(members, "hidden_size", u64{64});
  hf::set_member(members, "rope_scaling.rope_type", "llama3");
  hf::set_member(members, "hidden_size", u64{128});  // stays at its place
  EXPECT_EQ(hf::config_text(members),
            "{\n"
            "  \"rope_scaling\": {\n"
            "    \"factor\": 8.0,\n"
            "    \"rope_type\": \"llama3\"\n"
            "  },\n"
            "  \"hidden_size\": 128\n"
            "}\n");
  ASSERT_NE(hf::find_member(members, "rope_scaling.factor"), nullptr);
  EXPECT_EQ(std::get<float>(hf::find_member(members, "rope_scaling.factor")->value), 8.0f);
  EXPECT_EQ(hf::find_member(members, "rope_scaling.type"), nullptr);
  EXPECT_EQ(hf::find_member(members, "hidden_size.x"), nullptr);
}

TEST(ConfigMembers, AValueBecomesAnObjectWhereOneIsNeeded) {
  ConfigMembers members;
  hf::set_member(members, "a", nullptr);
  hf::set_member(members, "a.b", true);
  EXPECT_EQ(hf::config_text(members), "{\n  \"a\": {\n    \"b\": true\n  }\n}\n");
}

TEST(ConfigMembers, ValuesAreWrittenAsPythonReadsThem) {
  ConfigMembers members;
  hf::set_member(members, "none", nullptr);
  hf::set_member(members, "no", false);
  hf::set_member(members, "epsilon", 1e-5);  // the shortest decimal for that float32
  hf::set_member(members, "theta", 500000.0);
  hf::set_member(members, "limit", hf::config_list(std::vector<double>{0, std::numeric_limits<double>::infinity()}));
  hf::set_member(members, "less", -std::numeric_limits<double>::infinity());
  hf::set_member(members, "odd", std::numeric_limits<double>::quiet_NaN());
  hf::set_member(members, "kinds", hf::config_list(std::vector<std::string>{"a\"b", "c"}));
  hf::set_member(members, "empty", ConfigMembers());
  EXPECT_EQ(hf::config_text(members),
            "{\n"
            "  \"none\": null,\n"
            "  \"no\": false,\n"
            "  \"epsilon\": 1e-05,\n"
            "  \"theta\": 500000.0,\n"
            "  \"limit\": [0.0, Infinity],\n"
            "  \"less\": -Infinity,\n"
            "  \"odd\": NaN,\n"
            "  \"kinds\": [\"a\\\"b\", \"c\"],\n"
            "  \"empty\": {}\n"
            "}\n");
}

TEST(ConfigMembers, ValuesOfRowsAreReadAsJson) {
  const auto text = [](std::string_view json) {
    ConfigMembers members;
    hf::set_member(members, "x", hf::config_value_of(json));
    return hf::config_text(members);
  };
  EXPECT_EQ(text("null"), "{\n  \"x\": null\n}\n");
  EXPECT_EQ(text("true"), "{\n  \"x\": true\n}\n");
  EXPECT_EQ(text("[]"), "{\n  \"x\": []\n}\n");
  EXPECT_EQ(text("12"), "{\n  \"x\": 12\n}\n");
  EXPECT_EQ(text("1.5"), "{\n  \"x\": 1.5\n}\n");
  EXPECT_EQ(text("silu"), "{\n  \"x\": \"silu\"\n}\n");
}

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

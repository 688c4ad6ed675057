#include "hf/config_members.h"

#include <gtest/gtest.h>

#include <limits>

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

}  // namespace
}  // namespace modelutils

#include "formats/safetensors/index.h"

#include <gtest/gtest.h>

#include "support/safetensors_builder.h"

namespace modelutils::safetensors {
namespace {

ShardIndex parsed(std::string_view json) {
  auto index = parse_index(*test::memory_file(json, "model.safetensors.index.json"));
  EXPECT_TRUE(index.has_value());
  return index ? std::move(*index) : ShardIndex{};
}

std::string only_code(std::string_view json) {
  const ShardIndex index = parsed(json);
  EXPECT_EQ(index.findings.size(), 1u) << json;
  return index.findings.empty() ? ""
                                : std::string(severity_name(index.findings[0].severity)) + " " + index.findings[0].code;
}

TEST(Index, NamesTensorsAndShards) {
  const ShardIndex index = parsed(test::safetensors_index({{"b", "two"}, {"a", "one"}, {"c\\u0064", "two"}}, 48));
  EXPECT_TRUE(index.usable);
  EXPECT_TRUE(index.findings.empty());
  EXPECT_EQ(index.total_size, 48u);
  EXPECT_EQ(index.shards, (std::vector<std::string>{"one", "two"}));
  ASSERT_EQ(index.entries.size(), 3u);
  EXPECT_EQ(index.entries[0].tensor, "b");
  EXPECT_EQ(index.entries[0].shard, 1u);
  EXPECT_EQ(index.entries[1].shard, 0u);
  EXPECT_EQ(index.entries[2].tensor, "cd");
}

TEST(Index, TotalSizeIsAWholeNumber) {
  const auto total = [](std::string_view number) {
    return parsed(R"({"metadata":{"total_size":)" + std::string(number) + R"(},"weight_map":{"a":"b"}})");
  };
  EXPECT_EQ(total("48.0").total_size, 48u);
  EXPECT_EQ(total("18446744073709551615").total_size, ~u64{0});
  for (const char* wrong : {"\"48\"", "48.5", "-1", "1180591620717411303424", "null", "[48]"}) {
    const ShardIndex index = total(wrong);
    EXPECT_EQ(index.total_size, std::nullopt) << wrong;
    ASSERT_EQ(index.findings.size(), 1u) << wrong;
    EXPECT_EQ(index.findings[0].code, "st-index-total-size");
    EXPECT_EQ(index.findings[0].severity, Severity::warning);
    EXPECT_TRUE(index.usable);
  }
}

TEST(Index, MustBeAJsonObjectWithAWeightMap) {
  for (const char* json :
       {"", " \n", "[]", "\xef\xbb\xbf{}", "{", "{\"weight_map\":{\"a\":\"b\",}}", "{\"weight_map\":{\"a\":\"b\"}} x",
        "{\"\xff\":1}", "{\"weight_map\":{\"\\ud800\":\"b\"}}"}) {
    EXPECT_EQ(only_code(json), "error st-index-json") << json;
    EXPECT_FALSE(parsed(json).usable && parsed(json).findings.empty());
  }
  EXPECT_EQ(only_code(R"({"weight_map":{"a":"b"}})" + std::string(2, '\0')), "error st-index-json");
  EXPECT_EQ(only_code("{}"), "error st-index-weight-map");
  EXPECT_EQ(only_code(R"({"weight_map":null})"), "error st-index-weight-map");
  EXPECT_EQ(only_code(R"({"weight_map":"x"})"), "error st-index-weight-map");
  EXPECT_EQ(only_code(R"({"weight_map":{}})"), "error st-index-weight-map");
  EXPECT_EQ(only_code(R"({"weight_map":{"a":{"b":[1]}}})"), "error st-index-weight-map");
  EXPECT_EQ(only_code(R"({"metadata":[1],"weight_map":{"a":"b"}})"), "warning st-index-metadata");
  EXPECT_EQ(only_code(R"({"weight_map":{"a":"b"},"x":)" + std::string(500, '[') + std::string(500, ']') + "}"),
            "error st-index-json");
}

TEST(Index, DuplicatesAreFound) {
  EXPECT_EQ(only_code(R"({"weight_map":{"a":"b","\u0061":"c"}})"), "error st-index-duplicate");
  EXPECT_EQ(only_code(R"({"weight_map":{"a":"b"},"weight_map":{"a":"c"}})"), "error st-index-duplicate");
  EXPECT_EQ(only_code(R"({"metadata":{"total_size":1,"total_size":2},"weight_map":{"a":"b"}})"),
            "error st-index-duplicate");
}

TEST(Index, FileNamesStayInTheFolder) {
  for (const char* name : {"", ".", "..", "/", "/etc/passwd", "../x", "./x", "a/", "a//b", "a/./b", "a/../b", "a/..",
                           "a\\\\b", "a/b\\\\c", "https://x/y", "a\\u0000b", "a/b\\u0000", "\\u002fx"}) {
    const ShardIndex index = parsed(test::safetensors_index({{"t", name}}));
    ASSERT_EQ(index.findings.size(), 1u) << name;
    EXPECT_EQ(index.findings[0].code, "st-index-file-name") << name;
    EXPECT_TRUE(index.shards.empty());
    EXPECT_TRUE(index.entries.empty());
  }
  for (const char* name : {"...a", "model.safetensors", "a/b", "a/b/..c", "a/.b"}) {
    const ShardIndex index = parsed(test::safetensors_index({{"t", name}}));
    EXPECT_TRUE(index.findings.empty()) << name;
    EXPECT_EQ(index.shards, std::vector<std::string>{name});
  }
}

}  // namespace
}  // namespace modelutils::safetensors

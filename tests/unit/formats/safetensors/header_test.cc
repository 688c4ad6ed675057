// The parser's findings for invalid headers.
#include <gtest/gtest.h>

#include <span>

#include <string>
#include <vector>

#include "formats/safetensors/parse.h"
#include "support/safetensors_builder.h"

namespace modelutils::safetensors {
namespace {

using test::SafetensorsBuilder;

/// Returns "severity code" of each finding, in order.
std::vector<std::string> codes(std::span<const Finding> findings) {
  std::vector<std::string> all;
  for (const Finding& finding : findings)
    all.push_back(std::string(severity_name(finding.severity)) + " " + finding.code);
  return all;
}

Document parsed(const SafetensorsBuilder& builder) {
  auto document = parse(*builder.source());
  EXPECT_TRUE(document.has_value());
  return document ? std::move(*document) : Document{};
}

std::vector<std::string> codes_of_header(std::string json) {
  return codes(parsed(SafetensorsBuilder().header(std::move(json))).findings);
}

std::vector<std::string> codes_of_member(std::string_view json) {
  const Document document = parsed(SafetensorsBuilder().member(json));
  EXPECT_TRUE(document.complete) << json;
  EXPECT_TRUE(document.tensors.empty()) << json;
  return codes(document.findings);
}

using Codes = std::vector<std::string>;

TEST(Header, LengthMustBeThereAndFit) {
  const auto code = [](const std::string& bytes) {
    const auto document = parse(*test::memory_file(bytes, "m.safetensors"));
    EXPECT_TRUE(document.has_value());
    EXPECT_FALSE(document->complete);
    EXPECT_EQ(document->findings.size(), 1u);
    return document->findings[0].code;
  };
  EXPECT_EQ(code("\5"), "st-truncated");
  EXPECT_EQ(code(std::string("\5\0\0\0\0\0\0", 7)), "st-truncated");
  for (const u64 length : {u64{0}, u64{100'000'001}, u64{1} << 63, ~u64{0}, ~u64{7}}) {
    EXPECT_EQ(code(SafetensorsBuilder().header_length(length).build()), "st-header-length") << length;
  }
  EXPECT_EQ(code(SafetensorsBuilder().header_length(9).build()), "st-header-length");
  EXPECT_EQ(code(SafetensorsBuilder().header_length(100'000'000).build()), "st-header-length");
}

TEST(Header, WordsOfAnotherFileAreNotRepeated) {
  const auto document = parse(*test::memory_file("root:x:0:0:root", "m.safetensors"));
  ASSERT_TRUE(document.has_value());
  ASSERT_EQ(document->findings.size(), 1u);
  EXPECT_EQ(document->findings[0].code, "st-header-length");
  EXPECT_EQ(document->findings[0].message, "the file starts with text, not with a header length");
}

TEST(Header, MustBeOneJsonObject) {
  for (const char* json : {"{",
                           "{\"a\"",
                           "{\"a\":1,}",
                           "{\"a\" 1}",
                           "{'a':1}",
                           "{\"a\":{\"dtype\":\"U8\",\"shape\":[0,],\"data_offsets\":[0,0]}}",
                           "{\"a\":NaN}",
                           "{\"a\":nul}",
                           "{\"a\":tru}",
                           "{\"a\":falsy}",
                           "{\"a\":01}",
                           "{\"a\":-}",
                           "{\"a\":0x2}",
                           "{\"a\":1e999}",
                           "{\"a\":\"\n\"}",
                           "{\"a\":\"}",
                           "{/**/}",
                           "{\"a\":[1}",
                           "{\"a\":{]}",
                           "{\"a\":[[]}",
                           "{,}",
                           "{\"x\":1 2}"}) {
    const Document document = parsed(SafetensorsBuilder().header(json));
    EXPECT_FALSE(document.complete) << json;
    ASSERT_FALSE(document.findings.empty()) << json;
    EXPECT_EQ(document.findings.back().code, "st-header-json") << json;
  }
  const Document control = parsed(SafetensorsBuilder().header("{\n\"a\\\"\n\":1}"));
  EXPECT_EQ(control.findings.back().code, "st-header-json");
  EXPECT_EQ(control.findings.back().offset, 8u + 6u) << "the line feed in the name, not the one between the tokens";
  EXPECT_EQ(parsed(SafetensorsBuilder().header("{\"a")).findings.back().offset, 8u + 3u);
  EXPECT_EQ(codes_of_header("[]"), Codes{"error st-header-object"});
  EXPECT_EQ(codes_of_header("null"), Codes{"error st-header-object"});
  EXPECT_EQ(codes_of_header("  \n "), Codes{"error st-header-json"});
  EXPECT_EQ(codes_of_header("\xef\xbb\xbf{}"), Codes{"error st-header-encoding"});
  EXPECT_EQ(codes_of_header("{\"\xc0\xaf\":1}"), Codes{"error st-header-encoding"});
  EXPECT_EQ(codes_of_header("{\"\xed\xa0\x80\":1}"), Codes{"error st-header-encoding"});
}

TEST(Header, SaysWhereInvalidUtf8Stands) {
  const Document document = parsed(SafetensorsBuilder().header("{\"ab\xff\":1}"));
  ASSERT_EQ(document.findings.size(), 1u);
  EXPECT_EQ(document.findings[0].code, "st-header-encoding");
  EXPECT_EQ(document.findings[0].offset, 12u);
}

TEST(Header, KeepsWhatStandsBeforeASyntaxError) {
  const Document document =
      parsed(SafetensorsBuilder().header(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype" 1}})"));
  EXPECT_FALSE(document.complete);
  EXPECT_EQ(document.tensors.size(), 1u);
  EXPECT_EQ(codes(document.findings), Codes{"error st-header-json"});
  EXPECT_EQ(document.findings[0].offset, 8u + 66u) << "the 1 instead of a colon";
}

TEST(Header, OnlySpacesBelongAroundTheObject) {
  EXPECT_EQ(codes_of_header("{}      "), Codes{});
  EXPECT_EQ(codes_of_header(" {}"), Codes{"warning st-header-space"});
  EXPECT_EQ(codes_of_header("{}\t\r\n"), Codes{"warning st-header-space"});
  EXPECT_EQ(codes_of_header("{}{}"), Codes{"error st-header-trailing"});
  EXPECT_EQ(codes_of_header("{}, {}"), Codes{"error st-header-trailing"});
  EXPECT_EQ(codes_of_header("{} x"), Codes{"error st-header-trailing"});
  EXPECT_EQ(codes_of_header("{}\v"), Codes{"error st-header-trailing"});
}

TEST(Header, DeepNestingIsRefusedWithoutRecursion) {
  std::string deep = R"({"a":)";
  for (int i = 0; i < 200'000; ++i) deep += "[";
  for (int i = 0; i < 200'000; ++i) deep += "]";
  EXPECT_EQ(codes_of_header(deep + "}"), Codes({"error st-entry-type", "error st-header-depth"}));
  std::string allowed = R"({"a":)";
  for (std::size_t i = 1; i < 128; ++i) allowed += "{\"b\":";
  allowed += "0" + std::string(127, '}');
  EXPECT_EQ(codes_of_header(allowed + "}"), Codes({"warning st-unknown-member", "error st-field-missing",
                                                   "error st-field-missing", "error st-field-missing"}));
}

TEST(Header, FieldsMustBeThereAndOfTheirType) {
  EXPECT_EQ(codes_of_member(R"("a":null)"), Codes{"error st-entry-type"});
  EXPECT_EQ(codes_of_member(R"("a":"x")"), Codes{"error st-entry-type"});
  EXPECT_EQ(codes_of_member(R"("a":["F32",[1],[0,4]])"), Codes{"error st-entry-type"});
  EXPECT_EQ(codes_of_member(R"("a":{})"), Codes(3, "error st-field-missing"));
  EXPECT_EQ(codes_of_member(R"("a":{"dtype":1,"shape":[],"data_offsets":[0,1]})"), Codes{"error st-field-type"});
  EXPECT_EQ(codes_of_member(R"("a":{"dtype":["U8"],"shape":[],"data_offsets":[0,1]})"), Codes{"error st-field-type"});
  EXPECT_EQ(codes_of_member(R"("a":{"dtype":"U8","shape":1,"data_offsets":[0,1]})"), Codes{"error st-field-type"});
  EXPECT_EQ(codes_of_member(R"("a":{"dtype":"U8","shape":["1",null],"data_offsets":[0,1]})"),
            Codes(2, "error st-field-type"));
  EXPECT_EQ(codes_of_member(R"("a":{"dtype":"U8","shape":[],"data_offsets":[0]})"), Codes{"error st-field-type"});
  EXPECT_EQ(codes_of_member(R"("a":{"dtype":"U8","shape":[],"data_offsets":[0,1,2]})"), Codes{"error st-field-type"});
  EXPECT_EQ(codes_of_member(R"("a":{"dtype":"U8","shape":[],"data_offsets":{}})"), Codes{"error st-field-type"});
}

TEST(Header, NumbersAreWholeAndFitInto64Bits) {
  for (const char* number : {"-1", "-0", "1.0", "1e2", "2E0", "18446744073709551616", "184467440737095516150", "0.5"}) {
    const std::string member = std::string(R"("a":{"dtype":"U8","shape":[)") + number + R"(],"data_offsets":[0,1]})";
    EXPECT_EQ(codes_of_member(member), Codes{"error st-number"}) << number;
    const std::string offsets = std::string(R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,)") + number + "]}";
    EXPECT_EQ(codes_of_member(offsets)[0], "error st-number") << number;
  }
  const Document document = parsed(
      SafetensorsBuilder().entry("a", "U8", "[18446744073709551615]", "[18446744073709551614,18446744073709551615]"));
  ASSERT_EQ(document.tensors.size(), 1u);
  EXPECT_TRUE(document.findings.empty());
  EXPECT_EQ(document.tensors[0].shape[0], ~u64{0});
  EXPECT_EQ(document.tensors[0].begin, ~u64{1});
}

TEST(Header, DuplicatesAreFoundAfterUnescaping) {
  SafetensorsBuilder names;
  names.entry("ab", "U8", "[0]", "[0,0]").entry("a\\u0062", "U8", "[0]", "[0,0]").entry("ab ", "U8", "[0]", "[0,0]");
  const Document document = parsed(names);
  EXPECT_EQ(codes(document.findings), Codes{"error st-duplicate-name"});
  EXPECT_EQ(document.tensors.size(), 3u);
  EXPECT_EQ(document.find("ab"), &document.tensors[0]);
  EXPECT_EQ(document.find("ab "), &document.tensors[2]);

  const auto member = [](std::string_view more) {
    const std::string entry = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],)" + std::string(more) + "}";
    return codes(parsed(SafetensorsBuilder().member(entry).data("x")).findings);
  };
  EXPECT_EQ(member(R"("sh\u0061pe":[1])"), Codes{"error st-duplicate-member"});
  EXPECT_EQ(member(R"("dtype":{"x":[1,2]})"), Codes{"error st-duplicate-member"});
  EXPECT_EQ(member(R"("data_offsets":[0,1])"), Codes{"error st-duplicate-member"});
  EXPECT_EQ(member(R"("x":1,"\u0078":2)"), Codes({"warning st-unknown-member", "error st-duplicate-member"}));
  EXPECT_EQ(codes_of_header(R"({"__metadata__":{},"__metadata__":{}})"), Codes{"error st-duplicate-member"});
  EXPECT_EQ(codes_of_header(R"({"__metadata__":{"k":"a","k":"b"}})"), Codes{"error st-duplicate-member"});
}

TEST(Header, DuplicateOfAnEntryThatCannotBeReadIsFound) {
  const Document document = parsed(SafetensorsBuilder().member(R"("a":1)").entry("a", "U8", "[0]", "[0,0]"));
  EXPECT_EQ(codes(document.findings), Codes({"error st-entry-type", "error st-duplicate-name"}));
  EXPECT_EQ(document.tensors.size(), 1u);
  EXPECT_EQ(document.find("a"), &document.tensors[0]);
}

TEST(Header, MetadataAreStrings) {
  EXPECT_EQ(codes_of_header(R"({"__metadata__":null})"), Codes{"warning st-metadata-type"});
  EXPECT_EQ(codes_of_header(R"({"__metadata__":[["a"]]})"), Codes{"error st-metadata-type"});
  const Document document = parsed(
      SafetensorsBuilder().header(R"({"__metadata__":{"a":1,"b":{"c":[true,null]},"d":"e","f":"\ud800","g":"h"}})"));
  EXPECT_EQ(codes(document.findings), Codes({"error st-metadata-type", "error st-metadata-type", "error st-text"}));
  ASSERT_EQ(document.metadata.size(), 2u);
  EXPECT_EQ(document.metadata[1].key, "g");
  EXPECT_EQ(document.metadata[1].value, "h");
}

TEST(Header, EscapesMustStandForCharacters) {
  for (const char* name : {"\\ud800", "\\udc00x", "\\ud83dx", "\\q", "\\u12g4"}) {
    const Document document =
        parsed(SafetensorsBuilder().entry(name, "U8", "[0]", "[0,0]").entry("b", "U8", "[0]", "[0,0]"));
    EXPECT_EQ(codes(document.findings), Codes{"error st-text"}) << name;
    EXPECT_EQ(document.tensors.size(), 1u) << name;
  }
  const Document pair = parsed(SafetensorsBuilder().entry("\\ud83d\\ude00", "U8", "[0]", "[0,0]"));
  ASSERT_EQ(pair.tensors.size(), 1u);
  EXPECT_EQ(pair.tensors[0].name, "\U0001F600");
  EXPECT_EQ(codes_of_member(R"("a":{"dtype":"\ud800","shape":[],"data_offsets":[0,1]})"), Codes{"error st-text"});
}

TEST(Header, UnknownMembersAreWalkedNotSkipped) {
  const auto with = [](std::string_view value) {
    const std::string entry = R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1],"x":)" + std::string(value) + "}";
    const Document document = parsed(SafetensorsBuilder().member(entry).data("x"));
    return document.findings.empty() ? "" : document.findings.back().code;
  };
  EXPECT_EQ(with(R"({"a":[1,2.5e3,{"b":null}],"c":"d\n","e":[],"f":{}})"), "st-unknown-member");
  for (const char* wrong :
       {"[1,]", "{\"a\" 1}", "[01]", "\"\\q\"", "{\"\\ud800\":1}", "truth", "[1 2]", "{1:2}", "[}", "nul"}) {
    EXPECT_EQ(with(wrong), "st-header-json") << wrong;
  }
}

TEST(Header, FindingsOfACodeAreLimited) {
  std::string json = "{";
  for (int i = 0; i < 1000; ++i) json += "\"t" + std::to_string(i) + "\":1,";
  json.back() = '}';
  const Document document = parsed(SafetensorsBuilder().header(json));
  EXPECT_EQ(document.findings.size(), FindingLog::kept_per_code);
  EXPECT_EQ(document.findings.errors(), 1000u);
  for (const Finding& finding : document.findings) EXPECT_EQ(finding.code, "st-entry-type");
}

TEST(Header, LongShapesAndManyTensorsAreKept) {
  std::string shape = "[1";
  for (int i = 1; i < 20'000; ++i) shape += ",1";
  shape += "]";
  SafetensorsBuilder builder;
  builder.tensor("long", "U8", shape, "x");
  for (int i = 0; i < 5000; ++i) builder.tensor("t" + std::to_string(i), "U8", "[1,1,1]", "x");
  const Document document = parsed(builder);
  EXPECT_TRUE(document.findings.empty());
  ASSERT_EQ(document.tensors.size(), 5001u);
  EXPECT_EQ(document.tensors[0].shape.size(), 20'000u);
  EXPECT_EQ(document.tensors[0].elements(), 1u);
  EXPECT_EQ(document.tensors[5000].shape.size(), 3u);
  EXPECT_EQ(document.find("t4999"), &document.tensors[5000]);
}

}  // namespace
}  // namespace modelutils::safetensors

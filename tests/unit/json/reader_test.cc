#include "json/reader.h"

#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace modelutils::json {
namespace {

TEST(JsonReader, TypedMembers) {
  const auto document = parse(R"({"s":"text","u":7,"i":-7,"d":1.0,"big":18446744073709551615,"b":true,"n":null,)"
                              R"("a":[1,2],"o":{"x":"y"}})",
                              "m.json")
                            .value();
  const Element root = document->root;
  EXPECT_EQ(document->name, "m.json");
  EXPECT_EQ(string_member(root, "s"), "text");
  EXPECT_EQ(string_member(root, "u"), std::nullopt);
  EXPECT_EQ(u64_member(root, "u"), 7u);
  EXPECT_EQ(u64_member(root, "big"), ~u64{0});
  EXPECT_EQ(u64_member(root, "i"), std::nullopt);
  EXPECT_EQ(u64_member(root, "d"), std::nullopt) << "1.0 is no integer";
  EXPECT_EQ(i64_member(root, "i"), -7);
  EXPECT_EQ(i64_member(root, "big"), std::nullopt);
  EXPECT_EQ(number_member(root, "d"), 1.0);
  EXPECT_EQ(number_member(root, "u"), 7.0);
  EXPECT_EQ(number_member(root, "s"), std::nullopt);
  EXPECT_EQ(bool_member(root, "b"), true);
  EXPECT_EQ(bool_member(root, "u"), std::nullopt);
  EXPECT_FALSE(member(root, "n").has_value()) << "null is as good as absent";
  EXPECT_FALSE(member(root, "absent").has_value());
  EXPECT_EQ(array_member(root, "a")->size(), 2u);
  EXPECT_FALSE(array_member(root, "o").has_value());
  EXPECT_EQ(object_member(root, "o")->size(), 1u);
  EXPECT_EQ(string_member(*member(root, "o"), "x"), "y");
  EXPECT_FALSE(member(*member(root, "a"), "x").has_value()) << "an array has no members";
}

TEST(JsonReader, RefusesWhatIsNoJson) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "[";
  for (const std::string& bad :
       {std::string(), std::string("{"), std::string("{\"a\":}"), std::string("{} x"), std::string("\xef\xbb\xbf{}"),
        std::string("{\"a\":\"\xff\"}"), std::string("[01]"), std::string("nul"), deep}) {
    const auto document = parse(bad, "m.json");
    ASSERT_FALSE(document.has_value()) << bad.substr(0, 20);
    EXPECT_EQ(document.error().code, "json-syntax");
    EXPECT_EQ(document.error().file, "m.json");
  }
}

TEST(JsonReader, SaysWhatTheFileIsInstead) {
  const auto message = [](std::string_view text) { return parse(text, "tokenizer.json").error().message; };
  EXPECT_EQ(message("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
            "is not JSON: it is a Git LFS pointer: the file itself was not downloaded; run \"git lfs pull\"");
  EXPECT_NE(message("<!DOCTYPE html><html>").find("an HTML page"), std::string::npos);
  EXPECT_NE(message("").find("an empty file"), std::string::npos);
  EXPECT_TRUE(message("{").starts_with("is not valid JSON: ")) << "of no other kind: what the parser says";
}

// Python's json and the tokenizers library reject it as well.
TEST(JsonReader, RefusesAByteOrderMark) {
  for (const char* text : {"\xef\xbb\xbf{}", "\xef\xbb\xbf", "\xef\xbb\xbf[18446744073709551616]"}) {
    const auto document = parse(text, "m.json");
    ASSERT_FALSE(document) << text;
    EXPECT_EQ(document.error().code, "json-syntax");
    EXPECT_EQ(document.error().message, "is not valid JSON: it starts with a byte order mark, which is not allowed");
  }
  EXPECT_NE(parse("\xef\xbb\xbf<html>", "m.json").error().message.find("an HTML page"), std::string::npos);
  EXPECT_EQ(string_member(parse("{\"a\":\"\xef\xbb\xbf\"}", "m.json").value()->root, "a"), "\xef\xbb\xbf")
      << "inside it is a character";
}

TEST(JsonReader, SaysWhatIsWrong) {
  const auto message = [](const std::string& text) { return parse(text, "m.json").error().message; };
  EXPECT_EQ(message("{\"a\":\"\xff\"}"), "is not valid JSON: it is not UTF-8");
  EXPECT_EQ(message(" \n"), "is not valid JSON: it contains only white space");
  EXPECT_EQ(message(std::string(2000, '[') + std::string(2000, ']')), "is not valid JSON: it is nested too deeply");
  EXPECT_EQ(message("[1"), "is not valid JSON: it ends inside an array or object");
  EXPECT_EQ(message("[1 2]"), "is not valid JSON: a comma, colon or bracket is missing or misplaced");
  EXPECT_EQ(message("[01]"), "is not valid JSON: a number is malformed or too large");
}

TEST(JsonReader, LoadsFiles) {
  const test::TempDir folder;
  const std::string path = folder.write("c.json", "{\"a\": 1}\n");
  EXPECT_EQ(u64_member(load(path).value()->root, "a"), 1u);
  EXPECT_EQ(load(path, 3).error().code, "json-too-large");
  EXPECT_EQ(load(folder.file("absent")).error().code, "io-open");
  EXPECT_EQ(load(folder.path()).error().code, "io-directory");
}

}  // namespace
}  // namespace modelutils::json

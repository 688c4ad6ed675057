#include "formats/hf/config_edit.h"

#include <gtest/gtest.h>

namespace modelutils::hf {
namespace {

ConfigEdit edit_of(const std::string& text) {
  return ConfigEdit::parse(text, "config.json").value();
}

TEST(ConfigEdit, ChangesOnlyTheValue) {
  ConfigEdit edit = edit_of("{ \"a\" : 1.50,\n  \"b\":{\"c\":\"x\\\"y\"}, \"d\":[1 , 2] }\n");
  edit.set("b/c", "\"z\"");
  EXPECT_EQ(edit.text(), "{ \"a\" : 1.50,\n  \"b\":{\"c\":\"z\"}, \"d\":[1 , 2] }\n");
  edit.set("a", "2");
  EXPECT_EQ(edit.text(), "{ \"a\" : 2,\n  \"b\":{\"c\":\"z\"}, \"d\":[1 , 2] }\n");
  EXPECT_EQ(edit.find("d"), "[1 , 2]");
  EXPECT_EQ(edit.find("b/d"), std::nullopt);
}

TEST(ConfigEdit, AddsRemovesAndRenamesMembers) {
  ConfigEdit edit = edit_of("{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3\n}");
  EXPECT_FALSE(edit.is_changed());
  edit.set("d", "4");
  EXPECT_EQ(edit.text(), "{\n  \"a\": 1,\n  \"b\": 2,\n  \"c\": 3,\n  \"d\": 4\n}");
  edit.remove("a");
  edit.remove("c");
  EXPECT_EQ(edit.text(), "{\n  \"b\": 2,\n  \"d\": 4\n}");
  edit.rename("b", "e");
  EXPECT_EQ(edit.text(), "{\n  \"e\": 2,\n  \"d\": 4\n}");
  edit.remove("e");
  edit.remove("d");
  edit.set("f", "[]");
  EXPECT_EQ(edit.find("f"), "[]");
  EXPECT_TRUE(edit.is_changed());
}

TEST(ConfigEdit, Lists) {
  ConfigEdit edit = edit_of("{\"l\": [\n 1,\n 2,\n 3\n]}");
  edit.edit_list("l", [](std::size_t i, std::string_view json) -> std::optional<std::string> {
    return i == 0 ? std::nullopt : std::optional(std::string(json) + "0");
  });
  EXPECT_EQ(edit.text(), "{\"l\": [20,\n 30\n]}");
  EXPECT_EQ(edit.names(""), std::vector<std::string>{"l"});
}

// One pass over an object: a name may take that of a later member that is renamed, too.
TEST(ConfigEdit, NamesOfMembers) {
  ConfigEdit edit =
      edit_of("{\"q\" : {\n \"l.0\" : {\"bits\": 4},\n \"\\u006c.1\": 2,\n \"l.2\":{},\n \"bits\": 8\n}, \"l.0\": 1}");
  edit.edit_names("q", [](std::string_view name) -> std::optional<std::string> {
    if (name == "l.0") return std::nullopt;
    if (name == "bits") return "bits";
    return "l." + std::to_string(name.back() - '1');
  });
  EXPECT_EQ(edit.text(), "{\"q\" : {\n \"l.0\": 2,\n \"l.1\":{},\n \"bits\": 8\n}, \"l.0\": 1}");
  edit.edit_names("q", [](std::string_view) { return std::nullopt; });
  EXPECT_EQ(edit.text(), "{\"q\" : {\n}, \"l.0\": 1}");
  edit.edit_names("l.0", [](std::string_view) { return std::nullopt; });
  EXPECT_EQ(edit.find("l.0"), "1");
}

}  // namespace
}  // namespace modelutils::hf

// Our JSON, without the members that only we have, equals gguf-py's output.
#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <set>

#include "capture.h"
#include "formats/gguf/split_set.h"
#include "json/reader.h"
#include "model/listing/listing.h"
#include "report/listing_forms.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

const std::set<std::string_view> ours_only = {"schema",          "file_size", "alignment", "data_offset",  "parameters",
                                              "bits_per_weight", "types",     "bytes",     "chat_template"};

// Returns where two documents differ, or nullopt. Compares integers and floats by value.
std::optional<std::string> difference(json::Element ours, json::Element theirs, const std::string& where) {
  json::Object object, other_object;
  json::Array array, other_array;
  if (theirs.get(other_object)) {
    if (!ours.get(object)) return where + ": not an object";
    std::size_t extra = 0;
    for (const auto field : object) {
      if (const auto other = other_object.find(field.key)) {
        if (field.key == "filename") continue;
        if (auto found = difference(field.value, *other, where + "/" + std::string(field.key))) return found;
      } else if (ours_only.contains(field.key)) {
        ++extra;
      } else {
        return where + ": gguf-py has no member " + std::string(field.key);
      }
    }
    if (object.size() != other_object.size() + extra) return where + ": a member is missing";
    return std::nullopt;
  }
  if (theirs.get(other_array)) {
    if (!ours.get(array) || array.size() != other_array.size()) return where + ": other array";
    auto other = other_array.begin();
    for (const json::Element element : array) {
      if (auto found = difference(element, *other, where + "[]")) return found;
      ++other;
    }
    return std::nullopt;
  }
  double number = 0, other_number = 0;
  if (theirs.get(other_number)) {
    if (ours.get(number) && number == other_number) return std::nullopt;
  } else if (ours.text() == theirs.text()) {
    return std::nullopt;
  }
  return where + ": " + ours.text() + " is not " + theirs.text();
}

std::string decompressed(const std::string& path) {
  std::string text;
  FILE* pipe = ::popen(("xz -dc '" + path + "' 2>/dev/null").c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[1 << 16];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, pipe)) text.append(buffer, got);
  ::pclose(pipe);
  return text;
}

TEST(GgufPy, JsonIsTheSame) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(test::shared_dir() + "/corpus/gguf-py-json")) {
    const std::string text = decompressed(entry.path().string());
    if (text.empty()) GTEST_SKIP() << "xz is not installed";
    const std::string name = entry.path().stem().stem().string() + ".gguf";
    std::string path = test::shared_dir() + "/corpus/gguf-real/" + name;
    if (!std::filesystem::exists(path)) path = test::shared_dir() + "/corpus/bump/" + name;
    auto set = gguf::open_set(path);
    ASSERT_TRUE(set) << path;
    const Model model(std::move(*set), path);
    ListingOptions options;
    options.arrays = true;
    const std::string ours = test::capture(
        [&](TextOutput& out) { ASSERT_TRUE(write_listing_json(out, listing_of(model)->list({}), options)); });
    const auto our_document = json::parse(ours, "ours");
    const auto their_document = json::parse(text, "theirs");
    ASSERT_TRUE(our_document);
    ASSERT_TRUE(their_document);
    EXPECT_EQ(difference((*our_document)->root, (*their_document)->root, name), std::nullopt);
    ++compared;
  }
  EXPECT_EQ(compared, 6U);
}

TEST(GgufPy, TheComparisonSeesDifferences) {
  const auto differ = [](std::string_view ours, std::string_view theirs) {
    const auto a = json::parse(ours, "a");
    const auto b = json::parse(theirs, "b");
    return difference((*a)->root, (*b)->root, "").has_value();
  };
  EXPECT_FALSE(differ(R"({"a":1,"bytes":2})", R"({"a":1.0})"));
  EXPECT_TRUE(differ(R"({"a":1})", R"({"a":2})"));
  EXPECT_TRUE(differ(R"({"a":1})", R"({"a":1,"b":2})"));
  EXPECT_TRUE(differ(R"({"a":1,"c":2})", R"({"a":1})"));
  EXPECT_TRUE(differ(R"({"a":[1,2]})", R"({"a":[1,3]})"));
  EXPECT_TRUE(differ(R"({"a":[1,2]})", R"({"a":[1]})"));
  EXPECT_TRUE(differ(R"({"a":"x"})", R"({"a":"y"})"));
}

}  // namespace
}  // namespace modelutils

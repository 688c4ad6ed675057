#include "json/value.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace modelutils::json {
namespace {

class JsonValue : public ::testing::Test {
 protected:
  Element parsed(std::string_view text) {
    auto document = parse(text, "v.json");
    EXPECT_TRUE(document);
    document_ = std::move(*document);
    return document_->root;
  }

 private:
  std::unique_ptr<Document> document_;
};

template <typename T>
std::optional<T> as(Element value) {
  T typed{};
  return value.get(typed) ? std::optional<T>(typed) : std::nullopt;
}

TEST_F(JsonValue, HasOneTypeButIntegersAreNumbersToo) {
  Array list;
  ASSERT_TRUE(parsed(R"(["a\n", 7, -7, 18446744073709551615, 1.0, true, null, {}, []])").get(list));
  ASSERT_EQ(list.size(), 9u);
  EXPECT_EQ(as<std::string_view>(*list.at(0)), "a\n");
  EXPECT_FALSE(as<u64>(*list.at(0)));
  EXPECT_EQ(as<u64>(*list.at(1)), 7u);
  EXPECT_EQ(as<i64>(*list.at(1)), 7);
  EXPECT_EQ(as<double>(*list.at(1)), 7.0);
  EXPECT_FALSE(as<bool>(*list.at(1)));
  EXPECT_FALSE(as<std::string_view>(*list.at(1)));
  EXPECT_EQ(as<i64>(*list.at(2)), -7);
  EXPECT_FALSE(as<u64>(*list.at(2)));
  EXPECT_EQ(as<u64>(*list.at(3)), ~u64{0});
  EXPECT_FALSE(as<i64>(*list.at(3)));
  EXPECT_EQ(as<double>(*list.at(4)), 1.0);
  EXPECT_FALSE(as<u64>(*list.at(4)));
  EXPECT_EQ(as<bool>(*list.at(5)), true);
  EXPECT_TRUE(list.at(6)->is_null());
  EXPECT_FALSE(list.at(7)->is_null());
  EXPECT_TRUE(list.at(7)->is_object());
  EXPECT_FALSE(list.at(8)->is_object());
  EXPECT_TRUE(as<Array>(*list.at(8)));
  EXPECT_FALSE(as<Object>(*list.at(8)));
  EXPECT_FALSE(as<Array>(*list.at(7)));
  EXPECT_FALSE(list.at(9));
}

TEST_F(JsonValue, LeavesTheTargetAloneWhenTheTypeIsAnother) {
  const Element text = parsed("\"x\"");
  u64 number = 5;
  EXPECT_FALSE(text.get(number));
  EXPECT_EQ(number, 5u);
}

// gguf-edit stores this text, and st-dump prints it.
TEST_F(JsonValue, TextOfNumbers) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},           {"-0", "0"},
      {"-7", "-7"},         {"18446744073709551615", "18446744073709551615"},
      {"1.0", "1.0"},       {"-0.0", "-0.0"},
      {"2.50", "2.5"},      {"18446744073709551616", "1.8446744073709552e+19"},
      {"1e2", "100.0"},     {"0.1", "0.1"},
      {"1E-7", "1e-07"},    {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"1e30", "1e+30"},    {"1e23", "1e+23"},
      {"1e15", "1e+15"},    {"999999999999999.9", "999999999999999.9"},
      {"0.0001", "0.0001"}, {"0.00001", "1e-05"},
      {"1e-400", "0.0"},    {"5e-324", "5e-324"},
  };
  for (const auto& [text, expected] : cases) EXPECT_EQ(parsed(text).text(), expected) << text;
}

TEST_F(JsonValue, ObjectsKeepTheirOrderAndEqualKeys) {
  Object object;
  ASSERT_TRUE(parsed(R"({"b": [1, {"deep": [2]}], "\u0061": null, "b": 3})").get(object));
  EXPECT_EQ(object.size(), 3u);
  std::string seen;
  for (const auto& [key, value] : object) seen += std::string(key) + "=" + value.text() + ";";
  EXPECT_EQ(seen, R"(b=[1,{"deep":[2]}];a=null;b=3;)");
  EXPECT_EQ(object.find("b")->text(), R"([1,{"deep":[2]}])") << "the first of two";
  EXPECT_TRUE(object.find("a")->is_null());
  EXPECT_FALSE(object.find("deep"));
}

TEST_F(JsonValue, EmptyContainersHaveNothingToVisit) {
  Array list;
  ASSERT_TRUE(parsed("[[], {}]").get(list));
  const Array inner = *as<Array>(*list.at(0));
  const Object object = *as<Object>(*list.at(1));
  EXPECT_TRUE(inner.begin() == inner.end());
  EXPECT_TRUE(object.begin() == object.end());
  EXPECT_EQ(std::distance(list.begin(), list.end()), 2);
}

}  // namespace
}  // namespace modelutils::json

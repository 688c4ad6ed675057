#include "model/listing/listing.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include "base/escape.h"
#include "base/utf8.h"
#include "capture.h"
#include "json/reader.h"
#include "report/dump.h"
#include "report/listing_forms.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::GgufBuilder;

Model open(const test::TempDir& folder, const GgufBuilder& builder, std::string_view name = "m.gguf") {
  auto set = gguf::open_set(folder.write(name, builder.build()));
  if (!set) throw std::runtime_error(set.error().message);
  return Model(std::move(*set), "m.gguf");
}

std::string dump(const Model& model, const DumpRequest& request) {
  return test::capture([&](TextOutput& out) { (void)dump_model(out, *listing_of(model), "m.gguf", request); });
}

std::string dump(const Model& model, ListingWriter write, const ListingOptions& options = {}) {
  const Listing listing = listing_of(model)->list({});
  return test::capture([&](TextOutput& out) { (void)write(out, listing, options); });
}

json::Element member(json::Element element, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) element = json::member(element, key).value();
  return element;
}

// Counts the bytes read from a file.
class CountingSource : public ByteSource {
 public:
  CountingSource(std::shared_ptr<ByteSource> file, u64& count) : file_(std::move(file)), count_(count) {}
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    auto got = file_->read_some(offset, out);
    count_ += got.value_or(0);
    return got;
  }
  std::optional<u64> size() const override { return file_->size(); }
  const std::string& name() const override { return file_->name(); }

 private:
  std::shared_ptr<ByteSource> file_;
  u64& count_;
};

TEST(Listing, ReadsEveryByteOfAnArrayOnce) {
  constexpr u64 elements = 300000;
  GgufBuilder builder;
  std::string nested;
  for (u64 i = 0; i < elements; ++i) {
    builder.put<u32>(nested, 7);  // one bool
    builder.put<u64>(nested, 1);
    builder.put<u8>(nested, i % 2);
  }
  const test::TempDir folder;
  auto set = open(folder,
                  builder.key_bools("flat", std::vector<u8>(elements, 1)).key_raw_array("nested", 9, elements, nested));
  u64 bytes = 0;
  set.gguf->files[0].source = std::make_shared<CountingSource>(set.gguf->files[0].source, bytes);
  const u64 window = 256 * 1024;
  const auto of_key = [&](const std::string& key, u64 size) {
    bytes = 0;
    DumpRequest request;
    request.value = key;
    const std::string lines = dump(set, request);
    EXPECT_EQ(static_cast<u64>(std::count(lines.begin(), lines.end(), '\n')), elements);
    EXPECT_LE(bytes, size + window) << key;
  };
  of_key("flat", elements);
  of_key("nested", nested.size());
  ListingOptions options;
  options.arrays = true;
  bytes = 0;
  const std::string json = dump(set, write_listing_json, options);
  EXPECT_TRUE(json.find("[[false],[true],[false]") != std::string::npos);
  EXPECT_LE(bytes, elements + nested.size() + 3 * window);
}

TEST(Listing, SumsThatAreNotKnownAreNull) {
  const test::TempDir folder;
  const auto set = open(folder, GgufBuilder()
                                    .tensor({.name = "a", .ne = {u64{1} << 62}, .type = 24})
                                    .tensor({.name = "b", .ne = {u64{1} << 62, 2}, .type = 24})
                                    .tensor({.name = "c", .ne = {u64{1} << 63}, .type = 24}));
  const auto document = json::parse(dump(set, write_listing_json), "json");
  ASSERT_TRUE(document);
  json::Object members;
  ASSERT_TRUE((*document)->root.get(members));
  for (const char* sum : {"parameters", "bits_per_weight"}) {
    const auto value = members.find(sum);
    EXPECT_TRUE(value && value->is_null()) << sum;
  }
}

TEST(Listing, RangesOfPerLayerHeads) {
  const test::TempDir folder;
  const auto set = open(folder, GgufBuilder()
                                    .key_string("general.architecture", "openelm")
                                    .key_array<i32>("openelm.attention.head_count", {12, 16, 20})
                                    .key_array<i32>("openelm.attention.head_count_kv", {3, 3}));
  EXPECT_NE(dump(set, write_listing_text).find("12–20 query, 3 KV"), std::string::npos);
}

TEST(Listing, TypesAndSizes) {
  const test::TempDir folder;
  const auto set = open(folder, GgufBuilder().f32_tensor("f", {4}).tensor(
                                    {.name = "q", .ne = {32, 2}, .type = 8, .data = std::string(68, '\0')}));
  const auto document = json::parse(dump(set, write_listing_json), "json");
  ASSERT_TRUE(document);
  const json::Element root = (*document)->root;
  EXPECT_EQ(json::u64_member(root, "parameters"), 68U);
  EXPECT_DOUBLE_EQ(*json::number_member(root, "bits_per_weight"), 8.0 * (16 + 68) / 68);
  EXPECT_EQ(json::u64_member(member(root, {"types", "Q8_0"}), "bytes"), 68U);
  EXPECT_EQ(json::u64_member(member(root, {"types", "F32"}), "tensors"), 1U);
  const u64 data = *json::u64_member(root, "data_offset");
  EXPECT_EQ(json::u64_member(member(root, {"tensors", "q"}), "data_offset"), data + 32);
  EXPECT_EQ(json::u64_member(root, "file_size"), data + 32 + 96);
}

TEST(Listing, MemberNamesDifferWhateverTheFileHolds) {
  const test::TempDir folder;
  GgufBuilder builder;
  std::set<std::string> true_names;
  const std::vector<std::string> names = {"a",   "a#2",          "a", "a", "\xff", "\xfe", "\xef\xbf\xbd",
                                          "a#3", "GGUF.version", ""};
  for (const std::string& name : names) builder.key_u32(name, 1);
  for (const std::string& name : names) builder.f32_tensor(name, {1});
  const auto set = open(folder, builder);
  const auto document = json::parse(dump(set, write_listing_json), "json");
  ASSERT_TRUE(document);
  for (const char* part : {"metadata", "tensors"}) {
    std::set<std::string_view> seen;
    const json::Object object = json::object_member((*document)->root, part).value();
    std::size_t with_name = 0;
    for (const auto field : object) {
      EXPECT_TRUE(seen.insert(field.key).second) << part << " " << field.key;
      with_name += json::member(field.value, "name") ? 1 : 0;
    }
    const bool keys = std::string_view(part) == "metadata";
    EXPECT_EQ(seen.size(), names.size() + (keys ? 3 : 0));
    // The second and third "a", any tensors that they displace, and all names that are not UTF-8.
    EXPECT_GE(with_name, 5U) << part;
    EXPECT_TRUE(seen.contains("a"));
    EXPECT_TRUE(seen.contains("a#2"));
  }
}

TEST(Listing, ManyEqualNames) {
  const test::TempDir folder;
  GgufBuilder builder;
  for (int i = 0; i < 20'000; ++i) builder.key_u8("same", 1).key_u8("same#" + std::to_string(i), 1);
  const auto set = open(folder, builder);
  const std::string text = dump(set, write_listing_json);
  EXPECT_TRUE(json::parse(text, "json"));
}

TEST(Listing, NestedAndEmptyArrays) {
  const test::TempDir folder;
  GgufBuilder builder;
  std::string inner;
  builder.put<u32>(inner, 8);
  builder.put<u64>(inner, 2);
  builder.put_text(inner, "x");
  builder.put_text(inner, "\"\n");
  builder.put<u32>(inner, 5);
  builder.put<u64>(inner, 0);
  builder.key_raw_array("nested", 9, 2, inner).key_strings("none", {});
  const auto set = open(folder, builder);
  ListingOptions options;
  options.arrays = true;
  const auto document = json::parse(dump(set, write_listing_json, options), "json");
  ASSERT_TRUE(document);
  const json::Element nested = member((*document)->root, {"metadata", "nested"});
  EXPECT_EQ(member(nested, {"value"}).text(), R"([["x","\"\n"],[]])");
  EXPECT_EQ(member(nested, {"array_types"}).text(), R"(["ARRAY","STRING"])");
  EXPECT_EQ(member((*document)->root, {"metadata", "none", "value"}).text(), "[]");
}

TEST(Listing, LongArraysAreWrittenWhole) {
  const test::TempDir folder;
  std::vector<i32> numbers(10'000);
  std::vector<std::string> texts(10'000);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<i32>(i) - 5000;
    texts[i] = "token " + std::to_string(i);
  }
  const auto set = open(folder, GgufBuilder().key_array("numbers", numbers).key_strings("texts", texts));
  ListingOptions options;
  options.arrays = true;
  const auto document = json::parse(dump(set, write_listing_json, options), "json");
  ASSERT_TRUE(document);
  json::Array array;
  ASSERT_TRUE(member((*document)->root, {"metadata", "numbers", "value"}).get(array));
  ASSERT_EQ(array.size(), numbers.size());
  std::size_t i = 0;
  for (const json::Element element : array) {
    i64 number = 0;
    ASSERT_TRUE(element.get(number));
    EXPECT_EQ(number, numbers[i++]);
  }
  DumpRequest request;
  request.value = "texts";
  const std::string lines = dump(set, request);
  EXPECT_TRUE(lines.starts_with("token 0\ntoken 1\n"));
  EXPECT_TRUE(lines.ends_with("token 9999\n"));
  request.value = "numbers";
  EXPECT_TRUE(dump(set, request).ends_with("4998\n4999\n"));
}

TEST(Listing, TextFitsTheTerminal) {
  const test::TempDir folder;
  GgufBuilder builder;
  builder.key_string("general.architecture", "llama").key_string("general.name", std::string(300, 'n'));
  builder.key_string("a.key.with.quite.a.long.name.indeed", std::string(500, 'x'));
  builder.key_strings("list", std::vector<std::string>(100, "世界"));
  builder.f32_tensor("blk.0.a_tensor_with_quite_a_long_name.weight", {3, 2, 1, 1});
  const auto set = open(folder, builder);
  for (const std::size_t width : {70, 80, 100, 200}) {
    ListingOptions options;
    options.width = width;
    std::string text = dump(set, write_listing_text, options);
    while (!text.empty()) {
      const std::string line = text.substr(0, text.find('\n'));
      EXPECT_LE(display_width(line), width) << line;
      text.erase(0, line.size() + 1);
    }
  }
}

TEST(Listing, GridIsBoundedWhateverTheNames) {
  const test::TempDir folder;
  GgufBuilder builder;
  for (int i = 0; i < 3000; ++i) {
    builder.f32_tensor("blk." + std::to_string(i) + ".role" + std::to_string(i), {1});
  }
  const auto set = open(folder, builder);
  const std::string text = dump(set, write_listing_layers);
  EXPECT_LT(text.size(), 1'000'000U);
  EXPECT_NE(text.find("blk 64 layers"), std::string::npos);
  EXPECT_NE(text.find("elsewhere 2,936"), std::string::npos);
  EXPECT_NE(text.find("blk.2999.role2999"), std::string::npos);
}

TEST(Listing, UnknownKeysAndTensorsAreErrors) {
  const test::TempDir folder;
  const auto set = open(folder, GgufBuilder().key_u8("k", 1).tensor({.name = "fork", .ne = {4}, .type = 137}));
  const auto code = [&](std::optional<std::string> DumpRequest::*what, std::string name) {
    DumpRequest request;
    request.*what = std::move(name);
    Status status;
    (void)test::capture([&](TextOutput& out) { status = dump_model(out, *listing_of(set), "m.gguf", request); });
    return status ? std::string("ok") : status.error().code;
  };
  EXPECT_EQ(code(&DumpRequest::value, "k"), "ok");
  EXPECT_EQ(code(&DumpRequest::value, "GGUF.version"), "ok");
  EXPECT_EQ(code(&DumpRequest::value, "K"), "key-not-found");
  EXPECT_EQ(code(&DumpRequest::values, "nothing"), "tensor-not-found");
  EXPECT_EQ(code(&DumpRequest::values, "fork"), "tensor-not-found");
}

// By hand: layers 0, 1 and 3 are equal, 2 has another type, 4 lacks a role.
TEST(Listing, EqualLayersShareARow) {
  const test::TempDir folder;
  GgufBuilder builder;
  for (int layer = 0; layer < 5; ++layer) {
    const std::string name = "blk." + std::to_string(layer);
    builder.f32_tensor(name + ".norm.weight", {1});
    if (layer == 4) continue;
    builder.tensor({.name = name + ".up.weight",
                    .ne = {32},
                    .type = layer == 2 ? 8U : 2U,
                    .data = std::string(layer == 2 ? 34 : 18, '\0')});
  }
  const auto set = open(folder, builder);
  EXPECT_EQ(dump(set, write_listing_layers),
            "blk 5 layers, 3 kinds\n"
            "            norm up\n"
            "  0–1, 3 x3 F32  Q4_0\n"
            "  2         F32  Q8_0\n"
            "  4         F32  ·\n\n");
}

// Names are only truncated on terminals; pipes get whole names.
TEST(Listing, NamesAreCutInTheMiddleOnTerminalsOnly) {
  const test::TempDir folder;
  const std::string name = "a.very.long.name" + std::string(100, '.') + "that.ends.with.its.role.weight";
  const auto set = open(folder, GgufBuilder().f32_tensor(name, {1}));
  EXPECT_NE(dump(set, write_listing_text).find(name), std::string::npos);
  ListingOptions options;
  options.width = 80;
  const std::string cut = dump(set, write_listing_text, options);
  EXPECT_EQ(cut.find(name), std::string::npos);
  EXPECT_NE(cut.find("  a.very.long.name"), std::string::npos);
  EXPECT_NE(cut.find("its.role.weight  F32"), std::string::npos);
}

// For every edge case: no raw text from the file reaches a terminal, JSON is valid, and nothing crashes.
TEST(Listing, EveryFormIsSafeOnHostileFiles) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(test::data_dir() + "/gguf")) files.push_back(entry);
  if (test::have_shared()) {
    for (const auto& entry : std::filesystem::directory_iterator(test::shared_dir() + "/corpus/malformed/gguf")) {
      files.push_back(entry);
    }
  }
  std::size_t shown = 0;
  for (const auto& file : files) {
    auto set = gguf::open_set(file.string());
    if (!set) continue;
    const Model model(std::move(*set), "m.gguf");
    ++shown;
    std::vector<DumpRequest> requests(3);
    requests[1].json = true;
    requests[2].statistics = true;
    for (const ListingForm& form : listing_forms()) requests.emplace_back().form = &form;
    for (DumpRequest request : requests) {
      for (const bool second : {false, true}) {
        request.options.arrays = second;
        request.options.width = second ? 70 : 0;
        if (request.statistics) request.json = second;
        const std::string whole = dump(model, request);
        std::string_view text = whole;
        int parsed = 0;
        const bool is_json = request.json || (request.form != nullptr && request.form->flag == "--jsonl");
        while (!text.empty()) {
          const std::size_t end = text.find('\n');
          ASSERT_NE(end, text.npos);
          const std::string_view line = text.substr(0, end);
          EXPECT_FALSE(needs_escape(line)) << file << ": " << escape(line);
          EXPECT_TRUE(!is_json || parsed++ > 100 || json::parse(line, "line")) << file;
          text.remove_prefix(end + 1);
        }
      }
    }
  }
  EXPECT_GE(shown, 5U);
}

}  // namespace
}  // namespace modelutils

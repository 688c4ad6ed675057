#include "edit/safetensors/st_edit.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "formats/safetensors/shard_set.h"
#include "io/random_access_file.h"
#include "json/reader.h"
#include "support/checkpoint_builder.h"
#include "support/temp_dir.h"

namespace modelutils::to_safetensors {
namespace {

using namespace test::pickle;
using test::checkpoint;
using test::TempDir;

const std::string four = storage("ByteStorage", "0", 4);

class Pt2st : public testing::Test {
 protected:
  Result<StReport> convert(const std::string& input, const std::string& output) {
    StEditOptions options;
    options.input = input;
    options.output = output;
    if (std::filesystem::is_directory(input)) options.max_shard_size = shard_size;
    options.dry_run = dry_run;
    Progress progress;
    return st_edit(options, progress);
  }

  /// Returns the bytes of a tensor in the written file or directory.
  static std::string values(const std::string& path, std::string_view name) {
    const auto set = safetensors::open_set(path);
    if (!set || !set->find(name)) return "missing";
    const safetensors::TensorRef ref = *set->find(name);
    const safetensors::Tensor& tensor = set->tensor(ref);
    std::string bytes(tensor.bytes(), '\0');
    const auto& file = set->file(ref);
    EXPECT_TRUE(
        file.source->read_exact(file.document.data_offset + tensor.begin, std::as_writable_bytes(std::span(bytes))));
    return bytes;
  }

  TempDir dir;
  u64 shard_size = 1000;
  bool dry_run = false;
};

TEST_F(Pt2st, OneFileBitForBit) {
  const std::string in = dir.write(
      "m.pt", checkpoint(dict({{"w", tensor(four, 0, {2, 2}, {2, 1})}, {"t", tensor(four, 0, {2, 2}, {1, 2})}}),
                         {{"0", "abcd"}}));
  const auto report = convert(in, dir.file("m.safetensors"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(values(dir.file("m.safetensors"), "w"), "abcd");
  EXPECT_EQ(values(dir.file("m.safetensors"), "t"), "acbd");
  EXPECT_TRUE(report->shared.empty());
}

TEST_F(Pt2st, TiedHeadsGiveWayToTheEmbedding) {
  const std::string w = tensor(four, 0, {4}, {1});
  const std::string in =
      dir.write("m.pt", checkpoint(dict({{"a_lm_head.weight", w}, {"embed.weight", w}}), {{"0", "abcd"}}));
  const auto report = convert(in, dir.file("m.safetensors"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->shared, (std::vector<std::pair<std::string, std::string>>{{"a_lm_head.weight", "embed.weight"}}));
  EXPECT_EQ(values(dir.file("m.safetensors"), "a_lm_head.weight"), "missing");
  EXPECT_EQ(values(dir.file("m.safetensors"), "embed.weight"), "abcd");
}

TEST_F(Pt2st, WrappersAndOptimizers) {
  const std::string w = tensor(four, 0, {4}, {1});
  const std::string in = dir.write(
      "m.ckpt",
      checkpoint(dict({{"state_dict", "}(" + text("w") + w + "u"}, {"optimizer", "]" + w + "a"}}), {{"0", "abcd"}}));
  const auto report = convert(in, dir.file("m.safetensors"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->wrapper, "state_dict");
  ASSERT_EQ(report->left_out.size(), 1u);
  EXPECT_EQ(report->left_out.front().name, "optimizer.0");
  EXPECT_EQ(values(dir.file("m.safetensors"), "w"), "abcd");
}

TEST_F(Pt2st, DirectoriesWithShards) {
  std::filesystem::create_directory(dir.file("in"));
  dir.write(
      "in/pytorch_model.bin",
      checkpoint(dict({{"a", tensor(four, 0, {4}, {1})}, {"b", tensor(storage("ByteStorage", "1", 4), 0, {4}, {1})}}),
                 {{"0", "abcd"}, {"1", "efgh"}}));
  dir.write("in/config.json", "{}");
  dir.write("in/modeling.py", "import os");
  shard_size = 4;
  const auto report = convert(dir.file("in"), dir.file("out"));
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(values(dir.file("out"), "a"), "abcd");
  EXPECT_EQ(values(dir.file("out"), "b"), "efgh");
  EXPECT_TRUE(std::filesystem::exists(dir.file("out/model-00002-of-00002.safetensors")));
  EXPECT_TRUE(std::filesystem::exists(dir.file("out/model.safetensors.index.json")));
  EXPECT_EQ(test::read_file(dir.file("out/config.json")), "{}");
  EXPECT_FALSE(std::filesystem::exists(dir.file("out/modeling.py")));
  ASSERT_EQ(report->remarks.size(), 1u);
  EXPECT_EQ(report->remarks.front().code, "pt2st-left-out");
}

TEST_F(Pt2st, Refusals) {
  const std::string evil = dir.write("e.pt", checkpoint("\x80\x02" + global("os", "system") + "."));
  EXPECT_EQ(convert(evil, dir.file("x.safetensors")).error().code, "pt-global");
  const std::string empty = dir.write("n.pt", checkpoint(dict({})));
  EXPECT_EQ(convert(empty, dir.file("x.safetensors")).error().code, "pt2st-input");
  EXPECT_FALSE(std::filesystem::exists(dir.file("x.safetensors")));
  const std::string sound = dir.write("m.pt", checkpoint(dict({{"w", tensor(four, 0, {4}, {1})}}), {{"0", "abcd"}}));
  ASSERT_TRUE(convert(sound, dir.file("m.safetensors")));
  EXPECT_EQ(convert(sound, dir.file("m.safetensors")).error().code, "out-exists");
  dry_run = true;
  ASSERT_TRUE(convert(sound, dir.file("d.safetensors")));
  EXPECT_FALSE(std::filesystem::exists(dir.file("d.safetensors")));
}

// Every case of the malformed corpus: refused, or planned, as its manifest says.
TEST(StEditCorpus, RefusesWhatTheManifestRejects) {
  if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  const std::string folder = test::shared_dir() + "/corpus/malformed/st/";
  const auto manifest = json::load(folder + "manifest.json");
  ASSERT_TRUE(manifest.has_value());
  json::Array cases;
  ASSERT_TRUE((*manifest)->root.get(cases));
  std::size_t count = 0;
  for (const json::Element entry : cases) {
    StEditOptions options;
    options.input = folder + std::string(*json::string_member(entry, "name"));
    options.dry_run = true;
    Progress progress;
    const auto report = st_edit(options, progress);
    const std::string_view verdict = *json::string_member(entry, "verdict");
    if (verdict != "either") {
      EXPECT_EQ(report.has_value(), verdict == "accept") << options.input;
    }
    ++count;
  }
  EXPECT_GE(count, 187u);
}

// A file without tensors is valid: it is copied with its metadata, and every layout makes one file of it.
TEST(StEditCorpus, KeepsFilesWithoutTensors) {
  const TempDir dir;
  const std::string in =
      dir.write("in.safetensors", std::string("\x20\0\0\0\0\0\0\0", 8) + R"({"__metadata__":{"k":"v"}}      )");
  StEditOptions options;
  options.input = in;
  options.output = dir.file("out.safetensors");
  Progress progress;
  ASSERT_TRUE(st_edit(options, progress));
  EXPECT_EQ(test::read_file(options.output), test::read_file(in));
  options.output = dir.file("shards");
  options.max_shard_size = 1000;
  ASSERT_TRUE(st_edit(options, progress));
  EXPECT_TRUE(safetensors::open_set(dir.file("shards/model.safetensors")));
  EXPECT_FALSE(std::filesystem::exists(dir.file("shards/model.safetensors.index.json")));
}

TEST(MatchStars, CapturesWhatEachStarMatches) {
  using Texts = std::vector<std::string_view>;
  EXPECT_EQ(match_stars("a.*.b.*", "a.1.b.w"), (Texts{"1", "w"}));
  EXPECT_EQ(match_stars("*", ""), Texts{""});
  EXPECT_EQ(match_stars("*x*x", "axbxcx"), (Texts{"a", "bxc"}));
  EXPECT_EQ(match_stars("a?*", "abc"), Texts{"c"});
  EXPECT_EQ(match_stars("[0-9]*", "7b"), Texts{"b"});
  EXPECT_EQ(match_stars("plain", "plain"), Texts{});
  EXPECT_EQ(match_stars("a*a", "a"), std::nullopt);
  EXPECT_EQ(match_stars("a.*.b", "a.b"), std::nullopt);
}

TEST(IndexText, IsWhatPythonWrites) {
  EXPECT_EQ(index_text({{"b", "m2"}, {"a", "m1"}}, 7),
            "{\n  \"metadata\": {\n    \"total_size\": 7\n  },\n  \"weight_map\": {\n    \"a\": \"m1\",\n    \"b\": "
            "\"m2\"\n  }\n}\n");
}

}  // namespace
}  // namespace modelutils::to_safetensors

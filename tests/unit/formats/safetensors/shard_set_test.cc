#include "formats/safetensors/shard_set.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "formats/safetensors/index.h"
#include "support/safetensors_builder.h"
#include "support/temp_dir.h"

namespace modelutils::safetensors {
namespace {

using test::safetensors_index;
using test::SafetensorsBuilder;
using test::TempDir;

constexpr const char* one = "model-00001-of-00002.safetensors";
constexpr const char* two = "model-00002-of-00002.safetensors";
constexpr const char* index_name = "model.safetensors.index.json";

std::string weights(const std::vector<std::string>& names) {
  SafetensorsBuilder builder;
  for (const std::string& name : names) builder.tensor(name, "U8", "[4]", "data");
  return builder.build();
}

/// Two shards with the tensors a, b and c, and their index.
class ShardSetTest : public testing::Test {
 protected:
  void SetUp() override {
    dir.write(one, weights({"a", "b"}));
    dir.write(two, weights({"c"}));
    dir.write(index_name, safetensors_index({{"a", one}, {"b", one}, {"c", two}}, 12));
  }

  ShardSet opened(const std::string& path) {
    auto set = open_set(path);
    EXPECT_TRUE(set.has_value()) << (set ? "" : set.error().message);
    return set ? std::move(*set) : ShardSet{};
  }
  ShardSet opened() { return opened(dir.path()); }

  /// Returns "code file where" of the only finding.
  std::string only_finding(const std::string& path) {
    const ShardSet set = opened(path);
    EXPECT_EQ(set.findings.size(), 1u);
    if (set.findings.empty()) return "";
    const Finding& finding = set.findings[0];
    return std::string(severity_name(finding.severity)) + " " + finding.code + " " + finding.file + " " + finding.where;
  }
  std::string only_finding() { return only_finding(dir.path()); }

  TempDir dir;
};

TEST_F(ShardSetTest, OneModelByDirectoryOrIndex) {
  for (const std::string& path : {dir.path(), dir.path() + "/", dir.file(index_name)}) {
    const ShardSet set = opened(path);
    EXPECT_TRUE(set.findings.empty()) << path;
    EXPECT_EQ(set.folder, dir.path() + "/");
    ASSERT_EQ(set.files.size(), 2u);
    EXPECT_EQ(set.files[0].base_name, one);
    ASSERT_EQ(set.tensors.size(), 3u);
    const auto c = set.find("c");
    ASSERT_TRUE(c.has_value());
    EXPECT_EQ(set.file(*c).base_name, two);
    EXPECT_EQ(set.tensor(*c).name, "c");
    EXPECT_FALSE(set.find("d").has_value());
  }
}

TEST_F(ShardSetTest, OneFileIsASetOfOne) {
  const std::string path =
      dir.write("alone/x.safetensors", SafetensorsBuilder().metadata("k", "v").tensor("t", "U8", "[1]", "x").build());
  const ShardSet set = opened(path);
  EXPECT_TRUE(set.all_findings().empty());
  ASSERT_TRUE(set.find("t").has_value());
  EXPECT_FALSE(set.find("u").has_value());
  ASSERT_EQ(set.metadata().size(), 1u);
  EXPECT_EQ(set.metadata()[0].value, "v");
}

TEST_F(ShardSetTest, TensorsAndIndexMustAgree) {
  dir.write(index_name, safetensors_index({{"a", one}, {"c", two}}));
  EXPECT_EQ(only_finding(), std::string("error st-index-lacks-tensor ") + one + " tensor 'b'");
  dir.write(index_name, safetensors_index({{"a", one}, {"b", one}, {"c", two}, {"d", two}}));
  EXPECT_EQ(only_finding(), std::string("error st-shard-lacks-tensor ") + index_name + " tensor 'd'");
  dir.write(index_name, safetensors_index({{"a", one}, {"b", two}, {"c", two}}));
  EXPECT_EQ(only_finding(), std::string("error st-shard-lacks-tensor ") + index_name + " tensor 'b'");
  dir.write(index_name, safetensors_index({{"a", one}, {"b", one}, {"c", two}}, 13));
  EXPECT_EQ(only_finding(), std::string("warning st-index-total-size ") + index_name + " metadata");
}

TEST_F(ShardSetTest, ATensorInTwoShardsIsTakenWhereTheIndexSays) {
  dir.write(one, weights({"a", "b", "c"}));
  EXPECT_EQ(only_finding(), std::string("error st-shard-two-files ") + two + " tensor 'c'");
  const ShardSet set = opened();
  EXPECT_EQ(set.tensors.size(), 3u);
  EXPECT_EQ(set.file(*set.find("c")).base_name, two);
}

// Names in transformers: model.safetensors is the model; other files are only read on request.
TEST_F(ShardSetTest, VariantsNextToTheModelAreNotReadWithoutAnIndex) {
  TempDir folder;
  folder.write("model.safetensors", weights({"a", "b"}));
  folder.write("model.fp16.safetensors", weights({"a", "b"}));
  EXPECT_EQ(only_finding(folder.path()), "warning st-shard-unlisted model.fp16.safetensors ");
  EXPECT_EQ(opened(folder.path()).files.size(), 1u);
  folder.write("model-00001-of-00002.fp16.safetensors", weights({"a"}));
  folder.write("model.fp16-00001-of-00002.safetensors", weights({"a"}));
  EXPECT_EQ(opened(folder.path()).files.size(), 1u);
  EXPECT_EQ(opened(folder.path()).findings.warnings(), 3u);
  // Without model.safetensors, a file named like a variant is the model, and one with another name is a part of it.
  std::filesystem::remove(folder.file("model.safetensors"));
  EXPECT_EQ(Folder(folder.path() + "/").model_files().size(), 3u);
  TempDir parts;
  parts.write("model.safetensors", weights({"a"}));
  parts.write("model_more.safetensors", weights({"b"}));
  EXPECT_EQ(opened(parts.path()).files.size(), 2u);
}

TEST_F(ShardSetTest, ShardsMustBeRegularFilesOfTheFormat) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const std::string error = std::string("error st-shard-open ") + two + " ";
  std::filesystem::remove(dir.file(two));
  EXPECT_EQ(only_finding(), error);
  if (test::is_posix) {
    test::make_fifo(dir.file(two));
    EXPECT_EQ(only_finding(), error);
    std::filesystem::remove(dir.file(two));
  }
  std::filesystem::create_directory(dir.file(two));
  EXPECT_EQ(only_finding(), error);
  std::filesystem::remove(dir.file(two));
  test::make_link(two, dir.file(two));
  EXPECT_EQ(only_finding(), error);
  std::filesystem::remove(dir.file(two));
  test::make_link("/dev/null", dir.file(two));
  EXPECT_EQ(only_finding(), error);
  std::filesystem::remove(dir.file(two));
  dir.write(two, "");
  EXPECT_EQ(only_finding(), std::string("error st-shard-format ") + two + " ");
  EXPECT_EQ(opened().tensors.size(), 2u);
}

TEST_F(ShardSetTest, LinksOutOfTheFolderAreFollowedWithAWarning) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  TempDir outside;
  outside.write("blob", weights({"c"}));
  std::filesystem::remove(dir.file(two));
  test::make_link(outside.file("blob"), dir.file(two));
  EXPECT_EQ(only_finding(), std::string("warning st-shard-symlink ") + two + " ");
  EXPECT_EQ(opened().tensors.size(), 3u);
  std::filesystem::remove(dir.file(two));
  dir.write("blobs/c0ffee", weights({"c"}));
  test::make_link("blobs/c0ffee", dir.file(two));
  EXPECT_TRUE(opened().findings.empty());
}

// snapshots/REVISION/NAME -> ../../blobs/HASH, as in a download cache.
TEST_F(ShardSetTest, ADownloadCacheIsNormal) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const std::string snapshot = "models--o--n/snapshots/r/";
  dir.write("models--o--n/blobs/1", weights({"a", "b"}));
  dir.write("models--o--n/blobs/2", weights({"c"}));
  dir.write("models--o--n/blobs/3", safetensors_index({{"a", one}, {"b", one}, {"c", two}}, 12));
  dir.write("more", weights({"c"}));
  std::filesystem::create_directories(dir.file(snapshot));
  test::make_link("../../blobs/1", dir.file(snapshot + one));
  test::make_link("../../blobs/2", dir.file(snapshot + two));
  test::make_link("../../blobs/3", dir.file(snapshot + index_name));
  EXPECT_TRUE(opened(dir.file(snapshot)).findings.empty());
  EXPECT_TRUE(opened(dir.file(snapshot + index_name)).findings.empty());
  std::filesystem::remove(dir.file(snapshot + two));
  test::make_link("../../../more", dir.file(snapshot + two));
  EXPECT_EQ(only_finding(dir.file(snapshot)), std::string("warning st-shard-symlink ") + two + " ");
}

TEST_F(ShardSetTest, WhoWantsLinksFollowedIsNotWarned) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  TempDir outside;
  outside.write("blob", weights({"c"}));
  std::filesystem::remove(dir.file(two));
  test::make_link(outside.file("blob"), dir.file(two));
  EXPECT_TRUE(open_set(dir.path(), OutsideLinks::follow)->findings.empty());
  const FindingLog refused = open_set(dir.path(), OutsideLinks::refuse)->findings;
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].code, "st-shard-symlink");
  EXPECT_EQ(refused[0].severity, Severity::warning);
}

TEST_F(ShardSetTest, ShardsInSubDirectories) {
  const std::string below = "part/two.safetensors";
  std::filesystem::remove(dir.file(two));
  dir.write(below, weights({"c"}));
  dir.write(index_name, safetensors_index({{"a", one}, {"b", one}, {"c", below}}, 12));
  const ShardSet set = opened();
  EXPECT_TRUE(set.findings.empty());
  EXPECT_EQ(set.file(*set.find("c")).base_name, below);
  EXPECT_EQ(set.file(*set.find("c")).path, dir.file(below));
  // Two files may have the same base name.
  dir.write(std::string("part/") + one, weights({"c"}));
  dir.write(index_name, safetensors_index({{"a", one}, {"b", one}, {"c", std::string("part/") + one}}, 12));
  EXPECT_TRUE(opened().findings.empty());
  EXPECT_EQ(opened().files.size(), 2u);
}

TEST_F(ShardSetTest, NoLinkOnTheWayToAShard) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("real/two.safetensors", weights({"c"}));
  std::filesystem::remove(dir.file(two));
  test::make_link("real", dir.file("part"));
  dir.write(index_name, safetensors_index({{"a", one}, {"b", one}, {"c", "part/two.safetensors"}}, 12));
  EXPECT_EQ(only_finding(), "error st-shard-open part/two.safetensors ");
  EXPECT_FALSE(opened().find("c").has_value());
}

// Each of these names is a separate group, and each shard of the index is searched among all files.
TEST_F(ShardSetTest, ThousandsOfShardsOfManyGroups) {
  std::vector<std::string> names;
  for (int i = 0; i < 20000; ++i) names.push_back("m" + std::to_string(100000 + i) + "-00001-of-00002.safetensors");
  for (int i = 0; i < 20000; ++i) names.push_back("model-" + std::to_string(100000 + i) + "-of-120000.safetensors");
  const std::vector<ShardGroup> groups = shard_groups(names);
  ASSERT_EQ(groups.size(), 20001u);
  EXPECT_EQ(groups[7].first_file, names[7]);
  EXPECT_EQ(groups[7].missing, 1u);
  EXPECT_EQ(groups[7].first_missing, 2u);
  EXPECT_EQ(groups.back().missing, 100000u);
  EXPECT_EQ(groups.back().first_missing, 1u);
}

TEST_F(ShardSetTest, AnIndexThatIsALinkOutOfTheFolderIsAWarningToo) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  TempDir outside;
  outside.write("blob", safetensors_index({{"a", one}, {"b", one}, {"c", two}}));
  std::filesystem::remove(dir.file(index_name));
  test::make_link(outside.file("blob"), dir.file(index_name));
  EXPECT_EQ(only_finding(), std::string("warning st-shard-symlink ") + index_name + " ");
  EXPECT_EQ(opened().files[0].path, dir.file(one));
}

TEST_F(ShardSetTest, NothingOutsideTheFolderIsOpened) {
  TempDir outside;
  outside.write("secret.safetensors", weights({"c"}));
  const std::string relative =
      "../" + std::filesystem::path(outside.path()).filename().string() + "/secret.safetensors";
  for (const std::string& name : {outside.file("secret.safetensors"), relative, std::string("/dev/stdin")}) {
    dir.write(index_name, safetensors_index({{"a", one}, {"b", one}, {"c", name}}));
    const ShardSet set = opened();
    EXPECT_FALSE(set.find("c").has_value()) << name;
    EXPECT_EQ(set.findings[0].code, "st-index-file-name");
  }
  // Names of files on other systems.
  for (const char* name : {"C:/secret.safetensors", "C:secret.safetensors", "NUL", "part/aux.safetensors",
                           "two.safetensors:stream", "two.safetensors."}) {
    dir.write(index_name, safetensors_index({{"a", one}, {"b", one}, {"c", name}}));
    EXPECT_EQ(opened().findings[0].code, test::is_posix ? "st-shard-open" : "st-index-file-name") << name;
  }
  for (const char* name : {"//server/share/secret.safetensors", R"(\\\\server\\share\\secret.safetensors)",
                           R"(..\\secret.safetensors)", R"(part\\..\\..\\secret.safetensors)"}) {
    dir.write(index_name, safetensors_index({{"a", one}, {"b", one}, {"c", name}}));
    EXPECT_EQ(opened().findings[0].code, "st-index-file-name") << name;
  }
}

TEST_F(ShardSetTest, FilesThatTheIndexDoesNotNameAreNoted) {
  dir.write("model-00003-of-00003.safetensors", weights({"d"}));
  dir.write("adapter.safetensors", weights({"e"}));
  EXPECT_EQ(only_finding(), "warning st-shard-unlisted model-00003-of-00003.safetensors ");
}

TEST_F(ShardSetTest, WithoutIndexAllPartsMustBeThere) {
  std::filesystem::remove(dir.file(index_name));
  EXPECT_EQ(only_finding(), std::string("warning st-index-missing ") + one + " ") << "all there, but no index";
  EXPECT_TRUE(opened(dir.file(one)).findings.empty());
  std::filesystem::remove(dir.file(two));
  const std::string missing = std::string("error st-shard-incomplete ") + one + " ";
  EXPECT_EQ(only_finding(), missing);
  EXPECT_EQ(only_finding(dir.file(one)), missing);
  EXPECT_NE(opened().findings[0].message.find("is part 1 of 2, but 1 of these files is missing"), std::string::npos);
  dir.write(index_name, safetensors_index({{"a", one}, {"b", one}}));
  EXPECT_TRUE(opened(dir.file(one)).findings.empty());
  dir.write("big/m-00001-of-18446744073709551615.safetensors", weights({"a"}));
  EXPECT_EQ(opened(dir.file("big")).findings[0].code, "st-shard-incomplete");
  dir.write("alone/model-00001-of-00001.safetensors", weights({"a"}));
  EXPECT_TRUE(opened(dir.file("alone")).findings.empty());
}

TEST_F(ShardSetTest, ABrokenIndexLeavesTheFiles) {
  dir.write(index_name, "{");
  EXPECT_EQ(only_finding(), std::string("error st-index-json ") + index_name + " ");
  EXPECT_EQ(opened().tensors.size(), 3u);
  std::filesystem::remove(dir.file(index_name));
  if (!test::is_posix) return;
  test::make_fifo(dir.file(index_name));
  EXPECT_EQ(only_finding(), std::string("error st-index-open ") + index_name + " ");
}

TEST_F(ShardSetTest, AFolderGivesTheModelNotTheAdapters) {
  const auto files = [&](const std::string& folder) {
    std::vector<std::string> names;
    for (const ShardFile& file : opened(dir.file(folder)).files) names.push_back(file.base_name);
    return names;
  };
  using Names = std::vector<std::string>;
  dir.write("f/consolidated.safetensors", weights({"x"}));
  EXPECT_EQ(files("f"), Names{"consolidated.safetensors"});
  dir.write("f/other.safetensors", weights({"a"}));
  dir.write("f/.hidden.safetensors", "");
  EXPECT_EQ(files("f"), Names{"other.safetensors"});
  dir.write("f/model.safetensors", weights({"a"}));
  EXPECT_EQ(files("f"), Names{"model.safetensors"});
}

TEST_F(ShardSetTest, RefusesWhatHoldsNoModel) {
  const auto code = [](const std::string& path) {
    const auto set = open_set(path);
    return set ? "opened" : set.error().code;
  };
  std::filesystem::create_directory(dir.file("empty"));
  EXPECT_EQ(code(dir.file("empty")), "st-no-model");
  EXPECT_EQ(code(dir.file("none")), "io-open");
  EXPECT_EQ(code(dir.file("none.json")), "io-open");
  EXPECT_EQ(code(dir.write("config.json", "{\"a\":1}")), "st-not-safetensors");
  EXPECT_EQ(code(dir.write("page.safetensors", "<html>")), "st-not-safetensors");
  EXPECT_FALSE(is_model_folder(dir.file("empty")));
  EXPECT_TRUE(is_model_folder(dir.path()));
  EXPECT_TRUE(is_index("x/model.safetensors.index.json", ""));
  EXPECT_TRUE(is_index("other.json", "{\"weight_map\":"));
  EXPECT_FALSE(is_index("config.json", "{}"));
}

TEST_F(ShardSetTest, FindingsNameTheirFile) {
  dir.write(two, SafetensorsBuilder().member(R"("c":1)").build());
  const ShardSet set = opened();
  bool found = false;
  for (const Finding& finding : set.all_findings())
    found = found || (finding.code == "st-entry-type" && finding.file == two);
  EXPECT_TRUE(found);
  for (const Finding& finding : opened(dir.file(two)).all_findings()) EXPECT_EQ(finding.file, "");
}

}  // namespace
}  // namespace modelutils::safetensors

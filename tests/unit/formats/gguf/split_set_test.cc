#include "formats/gguf/split_set.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace modelutils::gguf {
namespace {

using test::GgufBuilder;
using test::TempDir;

GgufBuilder part(u16 number, u16 count, i32 total) {
  GgufBuilder builder;
  if (number == 0) builder.key_string("general.architecture", "llama");
  return builder.key_u16("split.no", number).key_u16("split.count", count).key_i32("split.tensors.count", total);
}

// Writes three valid parts with one tensor each: t0, t1, t2.
void write_three(const TempDir& folder, const std::string& prefix = "m") {
  for (u16 i = 0; i < 3; ++i) {
    folder.write(split_path(prefix, i + 1u, 3), part(i, 3, 3).f32_tensor(fmt::format("t{}", i), {4}).build());
  }
}

std::vector<std::string> codes(const SplitSet& set) {
  std::vector<std::string> out;
  for (const Finding& finding : set.findings) out.push_back(finding.code);
  return out;
}

TEST(SplitName, IsExact) {
  const auto name = parse_split_name("dir/my-model-00002-of-00003.gguf");
  ASSERT_TRUE(name.has_value());
  EXPECT_EQ(name->prefix, "dir/my-model");
  EXPECT_EQ(name->number, 2u);
  EXPECT_EQ(name->count, 3u);
  EXPECT_EQ(split_path(name->prefix, name->number, name->count), "dir/my-model-00002-of-00003.gguf");
  for (const std::string_view other :
       {"m.gguf", "", "m-00000-of-00003.gguf", "m-00004-of-00003.gguf", "m-1-of-3.gguf", "m-00001-of-00003.GGUF",
        "m-00001-of-0000a.gguf", "m-+0001-of-00003.gguf", "m_00001-of-00003.gguf", "m-00001-of-00003.gguf.part"}) {
    EXPECT_FALSE(parse_split_name(other).has_value()) << other;
  }
  EXPECT_EQ(parse_split_name("-00001-of-00001.gguf")->prefix, "");
}

TEST(SplitSet, ASingleFileIsASetOfOne) {
  const TempDir folder;
  for (const std::string_view name : {"m.gguf", "m-00001-of-00001.gguf"}) {
    const auto set = open_set(folder.write(name, GgufBuilder().f32_tensor("t", {1}).build()));
    ASSERT_TRUE(set.has_value());
    EXPECT_EQ(set->files.size(), 1u);
    EXPECT_FALSE(set->is_split());
    EXPECT_TRUE(set->findings.empty());
  }
  // As written by gguf-split --merge.
  EXPECT_TRUE(open_set(folder.write("merged.gguf", part(0, 0, 3).build()))->findings.empty());
}

TEST(SplitSet, AnyPartFindsTheWholeModel) {
  const TempDir folder;
  write_three(folder);
  for (u32 number = 1; number <= 3; ++number) {
    const auto set = open_set(folder.file(split_path("m", number, 3)));
    ASSERT_TRUE(set.has_value());
    EXPECT_TRUE(set->is_split());
    ASSERT_EQ(set->files.size(), 3u);
    EXPECT_TRUE(set->findings.empty()) << set->findings[0].message;
    for (u32 i = 0; i < 3; ++i) {
      EXPECT_EQ(set->files[i].path, folder.file(split_path("m", i + 1, 3)));
      EXPECT_EQ(set->files[i].document.tensors[0].name, fmt::format("t{}", i));
      EXPECT_NE(set->files[i].source, nullptr);
    }
  }
}

TEST(SplitSet, MissingPartsAreOneFinding) {
  const TempDir folder;
  const std::string path = folder.write("m-00002-of-00009.gguf", part(1, 9, 9).f32_tensor("t", {1}).build());
  const auto set = open_set(path);
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->files.size(), 1u);
  ASSERT_EQ(codes(*set), (std::vector<std::string>{"gguf-split-missing"}));
  EXPECT_EQ(set->findings[0].file, "m-00001-of-00009.gguf");
  EXPECT_NE(set->findings[0].message.find("8 of the model's 9"), std::string::npos);
  EXPECT_EQ(set->findings[0].scope, Scope::container);
}

TEST(SplitSet, SiblingsMustBeRegularFilesOfTheFormat) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no FIFOs";
  const TempDir folder;
  write_three(folder);
  std::filesystem::remove(folder.file("m-00002-of-00003.gguf"));
  test::make_fifo(folder.file("m-00002-of-00003.gguf"));
  folder.write("m-00003-of-00003.gguf", "<html>");
  const auto set = open_set(folder.file("m-00001-of-00003.gguf"));
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->files.size(), 1u);
  auto found = codes(*set);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<std::string>{"gguf-magic", "gguf-split-missing"}));
}

TEST(SplitSet, PartsThatAreLinks) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const TempDir folder;
  write_three(folder, "real/m");
  std::filesystem::create_directories(folder.file("m"));
  test::make_link("../real/m-00001-of-00003.gguf", folder.file("m/m-00001-of-00003.gguf"));
  test::make_link("../real/m-00002-of-00003.gguf", folder.file("m/m-00002-of-00003.gguf"));
  folder.write("m/m-00003-of-00003.gguf", test::read_file(folder.file("real/m-00003-of-00003.gguf")));
  const std::string path = folder.file("m/m-00001-of-00003.gguf");  // a file that is named explicitly may be a link
  const auto set = open_set(path);
  ASSERT_EQ(codes(*set), (std::vector<std::string>{"gguf-split-symlink"}));
  EXPECT_EQ(set->findings[0].severity, Severity::warning);
  EXPECT_EQ(set->findings[0].file, "m-00002-of-00003.gguf");
  EXPECT_EQ(set->files.size(), 3u);
  EXPECT_TRUE(open_set(path, OutsideLinks::follow)->findings.empty());
  // A download cache.
  const std::string snapshot = "models--o--n/snapshots/r/";
  std::filesystem::create_directories(folder.file(snapshot));
  for (u32 i = 1; i <= 3; ++i) {
    const std::string part = split_path("m", i, 3);
    folder.write("models--o--n/blobs/" + std::to_string(i), test::read_file(folder.file("real/" + part)));
    test::make_link("../../blobs/" + std::to_string(i), folder.file(snapshot + part));
  }
  EXPECT_TRUE(open_set(folder.file(snapshot + "m-00002-of-00003.gguf"))->findings.empty());
}

TEST(SplitSet, ABrokenSiblingSpeaksForItself) {
  const TempDir folder;
  write_three(folder);
  folder.write("m-00003-of-00003.gguf", part(2, 3, 3).f32_tensor("t2", {4}).build().substr(0, 60));
  const auto set = open_set(folder.file("m-00001-of-00003.gguf"));
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->files.size(), 3u);
  EXPECT_TRUE(set->findings.empty());
  EXPECT_FALSE(set->files[2].document.complete);
}

TEST(SplitSet, KeysMustAgreeWithNamesAndTypes) {
  const TempDir folder;
  write_three(folder);
  folder.write("m-00002-of-00003.gguf",
               GgufBuilder().key_u32("split.no", 1).key_u16("split.count", 4).f32_tensor("t1", {4}).build());
  const auto set = open_set(folder.file("m-00001-of-00003.gguf"));
  ASSERT_TRUE(set.has_value());
  ASSERT_EQ(set->files.size(), 3u);
  ASSERT_EQ(codes(*set), (std::vector<std::string>(3, "gguf-split-keys")));
  EXPECT_NE(set->findings[0].message.find("u32"), std::string::npos);
  EXPECT_EQ(set->findings[1].where, "key 'split.count'");
  EXPECT_EQ(set->findings[2].where, "key 'split.tensors.count'");
  EXPECT_EQ(set->findings[0].offset, 24u) << "the key's record";
  EXPECT_EQ(set->findings[1].offset, 24u + 8 + 8 + 4 + 4);
  EXPECT_EQ(set->findings[2].offset, std::nullopt) << "it is missing";
  for (const Finding& finding : set->findings) EXPECT_EQ(finding.file, "m-00002-of-00003.gguf");
}

// Sets that the loader refuses can still be listed.
TEST(SplitSet, AWrongNumberIsNoRuleOfTheContainer) {
  const TempDir folder;
  folder.write("m-00001-of-00002.gguf", part(0, 2, 2).f32_tensor("t0", {4}).build());
  folder.write("m-00002-of-00002.gguf", part(5, 2, 2).f32_tensor("t1", {4}).build());
  const auto set = open_set(folder.file("m-00001-of-00002.gguf"));
  ASSERT_EQ(codes(*set), (std::vector<std::string>{"gguf-split-keys"}));
  EXPECT_EQ(set->findings[0].severity, Severity::error);
  EXPECT_EQ(set->findings[0].scope, Scope::model);
  EXPECT_EQ(first_container_error(set->findings), nullptr);
}

TEST(SplitSet, ATotalThatIsTooSmallIsAsWrong) {
  const TempDir folder;
  for (const i32 total : {1, -1}) {
    for (u16 i = 0; i < 2; ++i) {
      folder.write(split_path("m", i + 1u, 2), part(i, 2, total).f32_tensor(fmt::format("t{}", i), {4}).build());
    }
    const auto set = open_set(folder.file("m-00001-of-00002.gguf"));
    ASSERT_TRUE(set.has_value());
    EXPECT_EQ(codes(*set), (std::vector<std::string>(2, "gguf-split-tensor-count"))) << total;
  }
}

TEST(SplitSet, TotalAndNamesAreCheckedOverAllFiles) {
  const TempDir folder;
  for (u16 i = 0; i < 2; ++i) {
    folder.write(split_path("m", i + 1u, 2), part(i, 2, 7).f32_tensor("same", {4}).f32_tensor("same", {4}).build());
  }
  const auto set = open_set(folder.file("m-00001-of-00002.gguf"));
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(codes(*set), (std::vector<std::string>{"gguf-split-tensor-count", "gguf-split-tensor-count",
                                                   "gguf-split-duplicate", "gguf-split-duplicate"}));
  EXPECT_EQ(set->findings[0].message, "the value is 7, but the files together have 4 tensors");
  EXPECT_EQ(set->findings[2].where, "tensor 'same'");
  EXPECT_EQ(set->findings[2].file, "m-00002-of-00002.gguf");
}

TEST(SplitSet, ARenamedPartIsRefused) {
  const TempDir folder;
  const auto set = open_set(folder.write("renamed.gguf", part(0, 3, 3).build()));
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(codes(*set), (std::vector<std::string>{"gguf-split-name"}));
  EXPECT_EQ(set->findings[0].severity, Severity::error);
}

TEST(SplitSet, APartThroughAPipeStandsAlone) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no FIFOs";
  const TempDir folder;
  write_three(folder);
  const std::string fifo = folder.file("n-00001-of-00003.gguf");
  test::make_fifo(fifo);
  const std::string bytes = test::read_file(folder.file("m-00001-of-00003.gguf"));
  std::thread writer([&] { std::ofstream(fifo, std::ios::binary) << bytes; });
  const auto set = open_set(fifo);
  writer.join();
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(set->files.size(), 1u);
  ASSERT_EQ(codes(*set), (std::vector<std::string>{"gguf-split-name"}));
  EXPECT_EQ(set->findings[0].severity, Severity::warning);
  EXPECT_TRUE(set->findings[0].leads);  // so that it never passes for the whole model
  EXPECT_TRUE(set->findings[0].message.starts_with("this is part 1 of 3 of a model")) << set->findings[0].message;
  ASSERT_TRUE(lone_part(*set).has_value());
  EXPECT_EQ(lone_part(*set)->number, 1u);
  EXPECT_EQ(lone_part(*set)->count, 3u);
}

TEST(SplitSet, OnlyASinglePartIsAlone) {
  const TempDir folder;
  write_three(folder);
  EXPECT_FALSE(lone_part(*open_set(folder.file("m-00002-of-00003.gguf"))));
  EXPECT_FALSE(lone_part(*open_set(folder.write("whole.gguf", GgufBuilder().f32_tensor("t", {1}).build()))));
  EXPECT_FALSE(lone_part(*open_set(folder.write("one.gguf", part(0, 1, 1).f32_tensor("t", {1}).build()))));
  EXPECT_EQ(lone_part(*open_set(folder.write("renamed.gguf", part(2, 3, 3).build())))->number, 3u);
}

TEST(SplitSet, ANameAloneIsAWarning) {
  const TempDir folder;
  const std::string path = folder.write("m-00001-of-00002.gguf", GgufBuilder().f32_tensor("t", {1}).build());
  const auto alone = open_set(path);
  EXPECT_EQ(codes(*alone), (std::vector<std::string>{"gguf-split-name"}));
  EXPECT_EQ(alone->findings[0].severity, Severity::warning);
  EXPECT_FALSE(alone->is_split());
  // With a sibling, it is a set with missing keys.
  folder.write("m-00002-of-00002.gguf", GgufBuilder().f32_tensor("u", {1}).build());
  const auto both = open_set(path);
  EXPECT_TRUE(both->is_split());
  EXPECT_EQ(codes(*both), (std::vector<std::string>(6, "gguf-split-keys")));
}

TEST(SplitSet, AnAbsurdNumberOfPartsIsNotLookedFor) {
  const TempDir folder;
  const auto set = open_set(folder.write("m-00001-of-99999.gguf", part(0, 3, 3).build()));
  ASSERT_TRUE(set.has_value());
  EXPECT_EQ(codes(*set), (std::vector<std::string>{"gguf-split-name"}));
}

TEST(SplitSet, ErrorsOfTheFileItself) {
  const TempDir folder;
  EXPECT_EQ(open_set(folder.file("absent.gguf")).error().code, "io-open");
  EXPECT_EQ(open_set(folder.path()).error().code, "io-directory");
  EXPECT_EQ(open_set(folder.write("m.gguf", "nonsense")).error().code, "gguf-magic");
}

}  // namespace
}  // namespace modelutils::gguf

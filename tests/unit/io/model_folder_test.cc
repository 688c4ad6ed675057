// Distinguishes missing files, links out of the folder and other links, with real files.
#include "io/model_folder.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace modelutils {
namespace {

using std::filesystem::create_directories;

class ModelFolderTest : public testing::Test {
 protected:
  // Opens a name in the folder. Returns the file's text, prefixed with "outside: " if it is outside, or the error code.
  std::string opened(const std::string& folder, std::string_view name) {
    const auto opened = open_in_folder(folder, name);
    if (!opened) return opened.error().code;
    return (opened->is_outside ? "outside: " : "") + text(*opened->file);
  }
  static std::string side_file(const ModelFolder& folder, std::string_view name) {
    const auto file = open_side_file(folder, name);
    if (!file) return file.error().code;
    return *file == nullptr ? "absent" : text(**file);
  }
  static std::string text(const RandomAccessFile& file) {
    std::string bytes(static_cast<std::size_t>(file.file_size()), '\0');
    EXPECT_TRUE(file.read_exact(0, std::as_writable_bytes(std::span(bytes))));
    return bytes;
  }

  test::TempDir dir;
};

TEST_F(ModelFolderTest, OnlyWhatIsNotThereIsAbsent) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("file", "x");
  test::make_link("nowhere", dir.file("dangling"));
  test::make_link("loop", dir.file("loop"));
  EXPECT_TRUE(is_present(dir.file("file")));
  EXPECT_TRUE(is_present(dir.file("dangling")));
  EXPECT_TRUE(is_present(dir.file("loop")));
  EXPECT_FALSE(is_present(dir.file("none"))) << "ENOENT";
  EXPECT_FALSE(is_present(dir.file("file/below"))) << "ENOTDIR";
  EXPECT_TRUE(is_present(dir.file("loop/below"))) << "ELOOP: nobody can say";
  EXPECT_TRUE(is_present(dir.file(std::string(300, 'n')))) << "ENAMETOOLONG: nobody can say";
}

TEST_F(ModelFolderTest, Listing) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("b", "");
  dir.write("a", "");
  dir.write(".c", "");
  EXPECT_EQ(*list_if_present(dir.path()), (std::vector<std::string>{".c", "a", "b"}));
  EXPECT_TRUE(list_if_present(dir.file("none"))->empty());
  EXPECT_TRUE(list_if_present(dir.file("a"))->empty());
  test::make_link("loop", dir.file("loop"));
  EXPECT_EQ(list_if_present(dir.file("loop")).error().code, "io-open");
  EXPECT_EQ(list_if_present(dir.file("loop")).error().file, dir.file("loop"));
}

TEST_F(ModelFolderTest, PathsOfFiles) {
  EXPECT_EQ(ModelFolder("").file("x"), "x");
  EXPECT_EQ(ModelFolder("a").file("x"), "a/x");
  EXPECT_EQ(ModelFolder("a/").file("x"), "a/x");
}

TEST_F(ModelFolderTest, LinksInsideTheFolderAreNormal) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("m/real", "text");
  dir.write("m/sub/real", "below");
  test::make_link("real", dir.file("m/link"));
  test::make_link("link", dir.file("m/link-to-link"));
  test::make_link(dir.file("m/sub/real"), dir.file("m/absolute"));
  test::make_link("../m/real", dir.file("m/out-and-in"));
  test::make_link("m", dir.file("other-name"));
  for (const std::string& folder : {dir.file("m"), dir.file("m/"), dir.file("other-name")}) {
    EXPECT_EQ(opened(folder, "real"), "text");
    EXPECT_EQ(opened(folder, "link"), "text");
    EXPECT_EQ(opened(folder, "link-to-link"), "text");
    EXPECT_EQ(opened(folder, "absolute"), "below");
    EXPECT_EQ(opened(folder, "out-and-in"), "text");
    EXPECT_EQ(opened(folder, "sub/real"), "below");
  }
}

TEST_F(ModelFolderTest, LinksOutOfTheFolderAreTold) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("secret", "s");
  dir.write("m2/secret", "s2");
  create_directories(dir.file("m"));
  test::make_link("../secret", dir.file("m/up"));
  test::make_link(dir.file("m2/secret"), dir.file("m/beside"));  // "…/m" is a prefix of "…/m2", but not its parent
  test::make_link("up", dir.file("m/through"));
  EXPECT_EQ(opened(dir.file("m"), "up"), "outside: s");
  EXPECT_EQ(opened(dir.file("m"), "beside"), "outside: s2");
  EXPECT_EQ(opened(dir.file("m"), "through"), "outside: s");
}

// snapshots/REVISION/NAME -> ../../blobs/HASH
TEST_F(ModelFolderTest, TheBlobsOfTheModelsOwnCacheAreNotOutside) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("models--o--n/blobs/1", "own");
  dir.write("models--o--x/blobs/1", "another model's");
  dir.write("models--o--n/secret", "not a blob");
  dir.write("models--o--n/blobs-2/1", "not a blob");
  dir.write("blobs/1", "nobody's");
  const std::string snapshot = dir.file("models--o--n/snapshots/r");
  create_directories(snapshot + "/sub");
  test::make_link("../../blobs/1", snapshot + "/own");
  test::make_link("../../../blobs/1", snapshot + "/sub/own");
  test::make_link("../../../models--o--x/blobs/1", snapshot + "/other");
  test::make_link("../../secret", snapshot + "/secret");
  test::make_link("../../blobs-2/1", snapshot + "/alike");
  test::make_link("../../../blobs/1", snapshot + "/nobody");
  EXPECT_EQ(opened(snapshot, "own"), "own");
  EXPECT_EQ(opened(snapshot, "sub/own"), "own");
  EXPECT_EQ(opened(snapshot, "other"), "another model's") << "in the same cache";
  EXPECT_EQ(opened(snapshot, "secret"), "not a blob");
  EXPECT_EQ(opened(snapshot, "alike"), "not a blob");
  EXPECT_EQ(opened(snapshot, "nobody"), "outside: nobody's") << "beside the repositories, but no shared blob";
  create_directories(dir.file("m"));
  test::make_link(dir.file("models--o--n/blobs/1"), dir.file("m/own"));
  EXPECT_EQ(opened(dir.file("m"), "own"), "outside: own") << "a folder that is in no cache";
  test::make_link(snapshot, dir.file("shortcut"));
  EXPECT_EQ(opened(dir.file("shortcut"), "own"), "own");
}

// snapshots/REVISION/NAME -> ../../blobs/ETAG -> ../../blobs/ab/ab01
TEST_F(ModelFolderTest, TheSharedBlobsOfTheCacheAreNotOutside) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("hub/blobs/ab/ab01", "shared");
  dir.write("hub/blobs/ab/cd01", "of another letter");
  dir.write("secret", "s");
  const std::string blobs = dir.file("hub/models--o--n/blobs"), snapshot = dir.file("hub/models--o--n/snapshots/r");
  create_directories(blobs);
  create_directories(snapshot);
  const auto link = [&](const std::string& name, const std::string& target) {
    test::make_link(target, blobs + "/" + name);
    test::make_link("../../blobs/" + name, snapshot + "/" + name);
  };
  link("shared", "../../blobs/ab/ab01");
  link("absolute", dir.file("hub/blobs/ab/ab01"));
  link("other-letter", "../../blobs/ab/cd01");
  link("away", "../../../secret");
  link("out-and-in", "../../../back");
  test::make_link("hub/blobs/ab/ab01", dir.file("back"));
  link("circle", "circle-2");
  link("circle-2", "circle");
  link("gone", "../../blobs/ab/ab02");
  test::make_link("../../../blobs/ab/ab01", snapshot + "/straight");
  test::make_link("hub", dir.file("alias"));
  test::make_link(dir.file("alias/blobs/ab/ab01"), snapshot + "/by-alias");
  for (const std::string& folder : {snapshot, dir.file("alias/models--o--n/snapshots/r")}) {
    EXPECT_EQ(opened(folder, "shared"), "shared");
    EXPECT_EQ(opened(folder, "absolute"), "shared");
    EXPECT_EQ(opened(folder, "straight"), "shared");
    EXPECT_EQ(opened(folder, "by-alias"), "shared") << "the cache under its other name";
    EXPECT_EQ(opened(folder, "other-letter"), "outside: of another letter");
    EXPECT_EQ(opened(folder, "away"), "outside: s");
    EXPECT_EQ(opened(folder, "out-and-in"), "outside: shared");
    EXPECT_EQ(opened(folder, "circle"), "io-open");
    EXPECT_EQ(opened(folder, "gone"), "io-open");
  }
}

TEST_F(ModelFolderTest, WhatCannotBeOpened) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("m/file", "x");
  create_directories(dir.file("m/directory"));
  test::make_link("nowhere", dir.file("m/dangling"));
  test::make_link("loop", dir.file("m/loop"));
  test::make_link("/dev/null", dir.file("m/device"));
  if (test::is_posix) test::make_fifo(dir.file("m/fifo"));
  EXPECT_EQ(opened(dir.file("m"), "none"), "io-open");
  EXPECT_EQ(opened(dir.file("m"), "file/below"), "io-open");
  EXPECT_EQ(opened(dir.file("m"), "dangling"), "io-open");
  EXPECT_EQ(opened(dir.file("m"), "loop"), "io-open");
  EXPECT_EQ(opened(dir.file("m"), "directory"), "io-directory");
  if (test::is_posix) {
    EXPECT_EQ(opened(dir.file("m"), "fifo"), "io-not-regular");
    EXPECT_EQ(opened(dir.file("m"), "device"), "io-not-regular");
  }
  EXPECT_EQ(opened(dir.file("none"), "file"), "io-open");
  EXPECT_EQ(open_in_folder(dir.file("m"), "loop").error().file, dir.file("m/loop"));
}

TEST_F(ModelFolderTest, LinkedDirectoriesOnTheWayAreTold) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("m/real/file", "x");
  dir.write("elsewhere/file", "y");
  test::make_link("real", dir.file("m/linked"));
  test::make_link("../elsewhere", dir.file("m/away"));
  EXPECT_FALSE(open_in_folder(dir.file("m"), "real/file")->is_below_linked_dir);
  EXPECT_TRUE(open_in_folder(dir.file("m"), "linked/file")->is_below_linked_dir);
  EXPECT_FALSE(open_in_folder(dir.file("m"), "linked/file")->is_outside);
  EXPECT_TRUE(open_in_folder(dir.file("m"), "away/file")->is_below_linked_dir);
  EXPECT_EQ(opened(dir.file("m"), "away/file"), "outside: y");
}

TEST_F(ModelFolderTest, SideFiles) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  dir.write("m/file", "x");
  dir.write("secret", "s");
  test::make_link("../secret", dir.file("m/link"));
  test::make_link("loop", dir.file("m/loop"));
  const std::string path = dir.file("m");
  EXPECT_EQ(side_file(path, "file"), "x");
  EXPECT_EQ(side_file(path, "none"), "absent");
  EXPECT_EQ(side_file(path, "file/below"), "absent");
  EXPECT_EQ(side_file(path, "loop"), "io-open");
  EXPECT_EQ(side_file(path, "link"), "io-link-outside") << "unless told otherwise";
  EXPECT_EQ(side_file({path, OutsideLinks::warn}, "link"), "s");
  EXPECT_EQ(side_file({path, OutsideLinks::follow}, "link"), "s");
  EXPECT_EQ(open_side_file(path, "link").error().file, dir.file("m/link"));
}

}  // namespace
}  // namespace modelutils

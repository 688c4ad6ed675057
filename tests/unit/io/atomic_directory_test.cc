#include "io/atomic_directory.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "base/os/files.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

namespace fs = std::filesystem;

void put(const fs::path& path, std::string_view text) {
  std::ofstream(path) << text;
}

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

bool is_ours(std::string_view name) {
  return name == "a" || name == "b";
}

DirectoryOptions options(bool force = false) {
  DirectoryOptions options;
  options.force = force;
  options.is_ours = is_ours;
  return options;
}

Status write_one(AtomicDirectory& directory, std::string_view name, std::string_view text) {
  MU_ASSIGN(AtomicOutput file, directory.create_file(name));
  MU_TRY(file.append(std::as_bytes(std::span(text))));
  return directory.close_files({&file, 1});
}

Status make(const std::string& path, const DirectoryOptions& how, std::string_view text = "new") {
  MU_ASSIGN(AtomicDirectory directory, AtomicDirectory::create(path, how));
  MU_TRY(write_one(directory, "a", text));
  return directory.commit();
}

class AtomicDirectoryTest : public ::testing::Test {
 protected:
  std::string path() const { return temp_.file("out"); }
  test::TempDir temp_;
};

TEST_F(AtomicDirectoryTest, AppearsAtTheEnd) {
  auto directory = AtomicDirectory::create(path() + "/", options());
  ASSERT_TRUE(directory) << directory.error().message;
  ASSERT_TRUE(write_one(*directory, "a", "one"));
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_EQ(text_of(directory->staging_path() + "/a"), "one");
  ASSERT_TRUE(directory->commit());
  EXPECT_EQ(text_of(path() + "/a"), "one");
  EXPECT_EQ(names_in(temp_.path()), std::set<std::string>{"out"});
}

TEST_F(AtomicDirectoryTest, LeavesNothingWithoutCommit) {
  {
    auto directory = AtomicDirectory::create(path(), options());
    ASSERT_TRUE(directory);
    ASSERT_TRUE(write_one(*directory, "a", "one"));
    auto unfinished = directory->create_file("b");
    ASSERT_TRUE(unfinished);
  }
  EXPECT_TRUE(names_in(temp_.path()).empty());
}

TEST_F(AtomicDirectoryTest, ErrorsNameWhatTheUserNamed) {
  auto directory = AtomicDirectory::create(path() + "/", options());
  ASSERT_TRUE(directory);
  EXPECT_EQ(directory->under_final_name({.file = directory->staging_path() + "/a"}).file, path() + "/a");
  EXPECT_EQ(directory->under_final_name({.file = "m.gguf"}).file, "m.gguf");
}

TEST_F(AtomicDirectoryTest, ReplacesOnlyWithForce) {
  ASSERT_TRUE(make(path(), options(), "old"));
  put(path() + "/b", "of before");
  const Status refused = make(path(), options());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "out-exists");
  EXPECT_EQ(AtomicDirectory::check(path(), options()).error().code, "out-exists");
  EXPECT_EQ(text_of(path() + "/a"), "old");
  ASSERT_TRUE(make(path(), options(true)));
  EXPECT_EQ(text_of(path() + "/a"), "new");
  EXPECT_EQ(names_in(path()), std::set<std::string>{"a"}) << "what was there is gone as a whole";
  EXPECT_EQ(names_in(temp_.path()), std::set<std::string>{"out"});
}

// Targets that are never replaced, whatever the options.
TEST_F(AtomicDirectoryTest, RefusesWhatIsNotItsOwn) {
  const auto expect_refused = [&](const std::string& target, const DirectoryOptions& how, std::string_view why) {
    const Status status = make(target, how);
    ASSERT_FALSE(status) << why;
    EXPECT_EQ(status.error().code, "out-replace") << why;
    EXPECT_NE(status.error().message.find(why), std::string::npos) << status.error().message;
    EXPECT_FALSE(AtomicDirectory::check(target, how)) << why;
  };
  fs::create_directory(path());
  put(path() + "/notes.txt", "mine");
  expect_refused(path(), options(true), "contains 'notes.txt'");
  fs::remove(path() + "/notes.txt");
  fs::create_directory(path() + "/a");
  expect_refused(path(), options(true), "contains 'a'");
  fs::remove(path() + "/a");
  if (test::can_link()) {
    test::make_link("/dev/null", path() + "/a");
    expect_refused(path(), options(true), "contains 'a'");
    fs::remove(path() + "/a");
  }
  put(path() + "/a", "source");
  DirectoryOptions with_input = options(true);
  with_input.inputs = {path() + "/a"};
  expect_refused(path(), with_input, "contains the source");
  if (test::can_link()) {
    test::make_link(path(), temp_.path() + std::string("/link"));
    expect_refused(temp_.path() + std::string("/link"), options(true), "is a symbolic link");
  }
  if (os::is_mount_root("/")) expect_refused("/", options(true), "is a mount point");
  const fs::path before = fs::current_path();
  fs::current_path(path());
  expect_refused(path(), options(true), "is or contains the working directory");
  expect_refused(".", options(true), "is or contains the working directory");
  fs::current_path(before);
  EXPECT_EQ(text_of(path() + "/a"), "source");
}

TEST_F(AtomicDirectoryTest, AFileIsNoDirectory) {
  put(path(), "a file");
  EXPECT_EQ(make(path(), options(true)).error().code, "out-directory");
  EXPECT_EQ(text_of(path()), "a file");
  EXPECT_EQ(make(path() + "/below", options()).error().code, "out-open");
  EXPECT_EQ(make(temp_.path() + std::string("/missing/out"), options()).error().code, "out-open");
}

TEST_F(AtomicDirectoryTest, WhatAppearsMeanwhileStays) {
  auto directory = AtomicDirectory::create(path(), options());
  ASSERT_TRUE(directory);
  ASSERT_TRUE(write_one(*directory, "a", "new"));
  fs::create_directory(path());
  put(path() + "/theirs", "x");
  const Status status = directory->commit();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, "out-exists");
  EXPECT_EQ(names_in(path()), std::set<std::string>{"theirs"});
}

// A foreign file appeared between the first check and the exchange.
TEST_F(AtomicDirectoryTest, LooksAgainBeforeItReplaces) {
  ASSERT_TRUE(make(path(), options(), "old"));
  auto directory = AtomicDirectory::create(path(), options(true));
  ASSERT_TRUE(directory);
  ASSERT_TRUE(write_one(*directory, "a", "new"));
  put(path() + "/theirs", "x");
  EXPECT_EQ(directory->commit().error().code, "out-replace");
  EXPECT_EQ(text_of(path() + "/a"), "old");
  EXPECT_EQ(text_of(path() + "/theirs"), "x");
}

// Folders in folders are made, replaced and kept like the files beside them.
TEST_F(AtomicDirectoryTest, FoldersInFolders) {
  DirectoryOptions how = options(true);
  how.is_ours = [](std::string_view name) { return name == "a" || name.starts_with("f/"); };
  how.is_kept = [](std::string_view name) { return name.ends_with("kept"); };
  const auto make_with = [&](std::string_view inner) -> Status {
    MU_ASSIGN(AtomicDirectory directory, AtomicDirectory::create(path(), how));
    MU_TRY(write_one(directory, "a", "new"));
    MU_TRY(write_one(directory, inner, "inner"));
    return directory.commit();
  };
  ASSERT_TRUE(make_with("f/g/h/i"));
  EXPECT_EQ(text_of(path() + "/f/g/h/i"), "inner");
  fs::create_directory(path() + "/f/k");
  put(path() + "/f/k/kept", "mine");
  ASSERT_TRUE(make_with("f/j"));
  EXPECT_EQ(names_in(path() + "/f"), (std::set<std::string>{"j", "k"}));
  EXPECT_EQ(text_of(path() + "/f/k/kept"), "mine");
  EXPECT_EQ(names_in(temp_.path()), std::set<std::string>{"out"});
  // A subfolder with a foreign file is not replaced.
  fs::create_directories(path() + "/b/c");
  put(path() + "/b/c/theirs", "x");
  const Status status = make_with("f/j");
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("contains 'b/c/theirs'"), std::string::npos) << status.error().message;
  EXPECT_EQ(text_of(path() + "/b/c/theirs"), "x");
  fs::remove_all(path() + "/b");
  {
    auto directory = AtomicDirectory::create(path(), how);
    ASSERT_TRUE(directory);
    ASSERT_TRUE(write_one(*directory, "f/x/y", "new"));
  }
  EXPECT_EQ(names_in(temp_.path()), std::set<std::string>{"out"}) << "without commit() nothing is left";
}

}  // namespace
}  // namespace modelutils

// Directory walks in situations that the command-line tests of verify cannot create.
#include "model/model_tree.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/os/files.h"
#include "io/model_folder.h"
#include "support/gguf_builder.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

std::vector<std::string> walk(const std::string& root, const TreeOptions& options = {}, TreeRest* rest = nullptr) {
  std::vector<std::string> found;
  TreeRest seen = walk_models(root, options, [&](TreeEntry entry) {
    found.push_back((entry.problem ? "unreadable " : "") + entry.path.substr(root.size()));
    return true;
  });
  if (rest != nullptr) *rest = std::move(seen);
  return found;
}

using Names = std::vector<std::string>;

TEST(ModelTree, AFolderThatCannotBeListedIsSaidAndTheRestGoesOn) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no permission bits";
  const test::TempDir folder;
  for (const char* name : {"a", "b", "c"}) std::filesystem::create_directory(folder.file(name));
  folder.write("a/m.gguf", "GGUF");
  folder.write("c/m.gguf", "GGUF");
  ASSERT_TRUE(os::set_mode(folder.file("b"), 0));
  ASSERT_TRUE(os::set_mode(folder.path(), 0755));
  const test::AsNobody user;  // root can list every folder
  EXPECT_EQ(walk(folder.path()), (Names{"/a/m.gguf", "unreadable /b", "/c/m.gguf"}));
}

TEST(ModelTree, AFolderThatDisappearsIsNoProblem) {
  const test::TempDir folder;
  for (const char* name : {"a", "b"}) std::filesystem::create_directory(folder.file(name));
  folder.write("a/m.gguf", "GGUF");
  Names found;
  (void)walk_models(folder.path(), {}, [&](const TreeEntry& entry) {
    found.push_back(entry.path);
    std::filesystem::remove(folder.file("b"));
    return true;
  });
  EXPECT_EQ(found, Names{folder.file("a/m.gguf")});
}

TEST(ModelTree, StopsWhenNobodyWantsMore) {
  const test::TempDir folder;
  for (int i = 0; i < 5; ++i) folder.write(std::to_string(i) + ".gguf", "GGUF" + std::to_string(i));
  int taken = 0;
  (void)walk_models(folder.path(), {}, [&](const TreeEntry&) { return ++taken < 2; });
  EXPECT_EQ(taken, 2);
}

TEST(ModelTree, FifosAndSocketsAreNotOpened) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no FIFOs";
  const test::TempDir folder;
  for (const char* name : {"fifo", "fifo.gguf"}) test::make_fifo(folder.file(name));
  test::make_link("fifo", folder.file("link"));
  EXPECT_EQ(walk(folder.path()), Names{});
}

TEST(ModelTree, DeepFoldersEnd) {
  const test::TempDir folder;
  std::string path = folder.path();
  int depth = 0;
  for (; depth < 300; ++depth) {
    path += "/directory";
    if (!os::make_folder(path, 0755)) break;
  }
  ASSERT_GT(depth, 100);
  folder.write(path.substr(folder.path().size() + 1) + "/m.gguf", "GGUF");
  EXPECT_EQ(walk(folder.path()).size(), 1u);
}

TEST(ModelTree, FilesMetBeforeAreCounted) {
  const test::TempDir folder;
  folder.write("a.gguf", "GGUF");
  std::filesystem::create_hard_link(folder.file("a.gguf"), folder.file("b.gguf"));
  folder.write("set-00001-of-00002.gguf", "GGUF");
  std::filesystem::create_hard_link(folder.file("a.gguf"), folder.file("set-00002-of-00002.gguf"));
  TreeRest rest;
  EXPECT_EQ(walk(folder.path(), {}, &rest), (Names{"/a.gguf", "/set-00001-of-00002.gguf"}));
  EXPECT_EQ(rest.repeated, 1u);
}

TEST(DirectoryNames, AreSortedAndFound) {
  const test::TempDir folder;
  for (const char* name : {"b", "a", "c"}) folder.write(name, "");
  const auto names = DirectoryNames::read(folder.path(), [](std::string_view name, EntryKind) { return name != "c"; });
  ASSERT_TRUE(names.has_value());
  ASSERT_EQ(names->size(), 2u);
  EXPECT_EQ(names->name(0), "a");
  EXPECT_EQ(names->kind(0), EntryKind::file);
  EXPECT_TRUE(names->contains("b"));
  EXPECT_FALSE(names->contains("c"));
  EXPECT_EQ(DirectoryNames::read(folder.file("none"), [](auto, auto) { return true; }).error().code, "io-open");
}

}  // namespace
}  // namespace modelutils

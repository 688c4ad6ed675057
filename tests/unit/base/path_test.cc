#include "base/path.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "base/os/files.h"
#include "support/temp_dir.h"

namespace modelutils {

namespace {

TEST(Path, Parts) {
  EXPECT_EQ(folder_of("a/b"), "a/");
  EXPECT_EQ(base_name_of("a/b"), "b");
  EXPECT_EQ(parent_of("a/b"), "a");
  EXPECT_EQ(parent_of("/a"), "/");
  EXPECT_EQ(parent_of("a"), "");
  EXPECT_EQ(path_in("a/", "b"), "a/b");
  EXPECT_EQ(path_in("", "b"), "b");
  EXPECT_EQ(path_in("a", "/b"), "/b");
  EXPECT_EQ(extension_of_path("a.b/c.gguf"), ".gguf");
  EXPECT_EQ(extension_of_path("a.b/.c"), "");
}

TEST(Path, ToOthers) {
  EXPECT_EQ(path_from("/a", "/a/b"), "b");
  EXPECT_EQ(path_from("/a/b", "/a/c"), "../c");
  EXPECT_EQ(path_from("/a", "/a"), ".");
  EXPECT_EQ(path_from("/a", "b"), "");
  EXPECT_EQ(normal_path("/a/./b/../c/"), "/a/c/");
}

TEST(Path, NamesThatStayBelow) {
  for (const char* name : {"a", "a/b", "a.b/..c", "...", "a/.hidden"}) EXPECT_TRUE(stays_below(name)) << name;
  for (const char* name : {"", "/", "/a", "a/", "a//b", ".", "..", "a/..", "../a", "a/./b"}) {
    EXPECT_FALSE(stays_below(name)) << name;
  }
  EXPECT_FALSE(stays_below(std::string_view("a\0b", 3)));
}

// std::filesystem gives the same answers, except for paths that begin with "//".
TEST(Path, AsTheStandardLibrary) {
  namespace fs = std::filesystem;
  std::mt19937 random(20261128);
  constexpr const char* parts[] = {"a", "b", ".", "..", "c.d", ".e", "/", "//", ""};
  const std::string root = test::is_posix ? "/" : "C:/";
  const auto make = [&](bool is_absolute) {
    std::string path;
    for (auto count = random() % 7; count > 0; --count) {
      path += parts[random() % std::size(parts)];
      if (random() % 3 != 0) path += "/";
    }
    path.erase(0, path.find_first_not_of('/'));
    return (is_absolute ? root : "") + path;
  };
  const auto text = [](const fs::path& path) { return os::from_native(path.string()); };
  for (int i = 0; i < 20000; ++i) {
    const std::string path = make(random() % 2 == 0), name = "x/" + make(false);
    EXPECT_EQ(normalised(path), text(fs::path(path).lexically_normal())) << path;
    EXPECT_EQ(parent_of(path), text(fs::path(path).parent_path())) << path;
    EXPECT_EQ(extension_of_path(path), text(fs::path(path).extension())) << path;
    EXPECT_EQ(path_in(path, name), text(fs::path(path) / name)) << path;
    const std::string from = normalised(make(true)), to = normalised(make(true));
    EXPECT_EQ(path_from(from, to), text(fs::path(to).lexically_relative(from))) << from << ' ' << to;
    if (!path.empty()) {
      EXPECT_EQ(normal_path(path), text((fs::current_path() / path).lexically_normal())) << path;
    }
  }
}

}  // namespace

}  // namespace modelutils

#include "base/path.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

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

// std::filesystem gives the same answers, except for paths that begin with "//".
TEST(Path, AsTheStandardLibrary) {
  namespace fs = std::filesystem;
  std::mt19937 random(20261128);
  constexpr const char* parts[] = {"a", "b", ".", "..", "c.d", ".e", "/", "//", ""};
  const auto make = [&](bool is_absolute) {
    std::string path = is_absolute ? "/" : "";
    for (auto count = random() % 7; count > 0; --count) {
      path += parts[random() % std::size(parts)];
      if (random() % 3 != 0) path += "/";
    }
    while (path.starts_with("//")) path.erase(0, 1);
    return path;
  };
  for (int i = 0; i < 20000; ++i) {
    const std::string path = make(random() % 2 == 0), name = "x/" + make(true);
    EXPECT_EQ(normalised(path), fs::path(path).lexically_normal().string()) << path;
    EXPECT_EQ(parent_of(path), fs::path(path).parent_path().string()) << path;
    EXPECT_EQ(extension_of_path(path), fs::path(path).extension().string()) << path;
    EXPECT_EQ(path_in(path, name), (fs::path(path) / name).string()) << path;
    const std::string from = normalised(make(true)), to = normalised(make(true));
    EXPECT_EQ(path_from(from, to), fs::path(to).lexically_relative(from).string()) << from << ' ' << to;
    if (!path.empty()) {
      EXPECT_EQ(normal_path(path), fs::absolute(path).lexically_normal().string()) << path;
    }
  }
}

}  // namespace

}  // namespace modelutils

#include "io/output_place.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::TempDir;

TEST(OutputPlace, IsOneForEverySpelling) {
  const TempDir folder;
  std::filesystem::create_directory(folder.file("d"));
  std::filesystem::create_directory_symlink("d", folder.file("link"));
  const std::string place = std::filesystem::canonical(folder.file("d")).string() + "/new";
  EXPECT_EQ(output_place(folder.file("d/new")), place);
  EXPECT_EQ(output_place(folder.file("d//./new")), place);
  EXPECT_EQ(output_place(folder.file("link/../d/new")), place);
  EXPECT_EQ(output_place(folder.file("link/new")), place);
  EXPECT_EQ(output_place(folder.file("d/missing/../new")), place);
  EXPECT_NE(output_place(folder.file("d/other")), place);
  EXPECT_EQ(output_place("new"), std::filesystem::current_path().string() + "/new");
  EXPECT_EQ(output_place("./new"), output_place("new"));
}

TEST(OutputPlace, OutputsInCachesAreRefused) {
  const TempDir folder;
  std::filesystem::create_directories(folder.file("models--a--b/blobs"));
  std::filesystem::create_directories(folder.file("models--a--b/snapshots/1"));
  folder.write("models--a--b/blobs/0", "blob");
  std::filesystem::create_symlink("models--a--b/blobs/0", folder.file("link"));
  for (const char* name :
       {"models--a--b/blobs/0", "models--a--b/snapshots/1/new", "models--a--b/snapshots/new", "link"}) {
    const Status refused = refuse_output_in_cache(folder.file(name));
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, "out-in-cache") << name;
  }
  EXPECT_TRUE(refuse_output_in_cache(folder.file("models--a--b/notes")));
  EXPECT_TRUE(refuse_output_in_cache(folder.file("new")));
}

// Existing and new names, reached through any links.
TEST(OutputPlace, OutputsInSharedBlobsAreRefused) {
  const TempDir folder;
  const std::string hash = "ab" + std::string(62, '0');
  folder.write("hub/blobs/ab/" + hash, "blob");
  folder.write("marked/blobs/.huggingface-shared-blobs", "1\n");
  folder.write("mine/blobs/x", "");
  std::filesystem::create_directories(folder.file("hub/models--a--b/blobs"));
  std::filesystem::create_symlink("../../blobs/ab/" + hash, folder.file("hub/models--a--b/blobs/0"));
  std::filesystem::create_symlink("hub/models--a--b/blobs/0", folder.file("link"));
  for (const std::string& name : {"hub/blobs/ab/" + hash, std::string("hub/blobs/ab/new"), std::string("hub/blobs/new"),
                                  std::string("hub/models--a--b/blobs/0"), std::string("link"),
                                  std::string("marked/blobs/cd/new"), "moved/blobs/ab/" + hash}) {
    const Status refused = refuse_output_in_cache(folder.file(name));
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, "out-in-cache") << name;
  }
  for (const char* name : {"hub/new", "mine/blobs/new", "mine/blobs/ab/abc"}) {
    EXPECT_TRUE(refuse_output_in_cache(folder.file(name))) << name;
  }
}

}  // namespace
}  // namespace modelutils

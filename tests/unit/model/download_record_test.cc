// Checksums promised by names and records of download caches.
#include "model/download_record.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace modelutils {
namespace {

const std::string sha256(64, 'a');
const std::string sha1(40, 'b');

TEST(DownloadRecord, ETagsTellTheirAlgorithm) {
  EXPECT_EQ(expected_content(sha256).value().algorithm, HashAlgorithm::sha256);
  EXPECT_EQ(expected_content('"' + sha1 + '"').value().algorithm, HashAlgorithm::sha1);
  EXPECT_EQ(expected_content('"' + sha1 + '"').value().hex, sha1);
  for (const std::string& other : {std::string(), std::string("\""), std::string("\"\""), sha256 + "a", sha1.substr(1),
                                   std::string(64, 'A'), std::string(40, 'g')}) {
    EXPECT_FALSE(expected_content(other).has_value()) << other;
  }
}

TEST(DownloadRecord, NamesOfOllamasBlobs) {
  EXPECT_EQ(ollama_blob("sha256-" + sha256).value().hex, sha256);
  EXPECT_EQ(ollama_blob("sha256:" + sha256).value().hex, sha256);
  for (const std::string& other : {"sha256" + sha256, "sha256_" + sha256, "sha256-" + sha256 + "-partial",
                                   "sha512-" + sha256, "sha256-" + sha256.substr(1) + "/"}) {
    EXPECT_FALSE(ollama_blob(other).has_value()) << other;
  }
}

TEST(DownloadRecord, PlacesInARepository) {
  const auto snapshot = hub_place("/hub/models--a--b/snapshots/c0ffee/sub/m.gguf").value();
  EXPECT_EQ(snapshot.repository, "/hub/models--a--b");
  EXPECT_FALSE(snapshot.is_blob);
  EXPECT_EQ(snapshot.revision, "c0ffee");
  EXPECT_EQ(snapshot.name, "sub/m.gguf");
  const auto blob = hub_place("/hub/models--a--b/blobs/" + sha1).value();
  EXPECT_TRUE(blob.is_blob);
  EXPECT_EQ(blob.name, sha1);
  for (const char* other : {"/hub/models--a--b", "/hub/models--a--b/refs/main", "/hub/a/snapshots/x/y", ""}) {
    EXPECT_FALSE(hub_place(other).has_value()) << other;
  }
}

// A shared blob's name is a checksum that we cannot compute; the blob linking to it has one that we can.
TEST(DownloadRecord, SharedBlobs) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const test::TempDir folder;
  const std::string xet = "cd" + std::string(62, '1');
  const std::string hub = folder.file("hub"), shared = hub + "/blobs/cd/" + xet;
  const std::string blobs = hub + "/models--o--n/blobs/", snapshot = hub + "/models--o--n/snapshots/1/";
  for (const std::string& made : {blobs, snapshot}) std::filesystem::create_directories(made);
  folder.write("hub/blobs/cd/" + xet, "content");
  folder.write("secret", "s");
  test::make_link("../../blobs/cd/" + xet, blobs + sha256);
  test::make_link("../../blobs/" + sha256, snapshot + "m");
  test::make_link("../../../secret", blobs + sha1);
  test::make_link("../../blobs/" + sha1, snapshot + "away");
  DownloadRecords records;
  const DownloadRecord file = records.find(hub + "/models--o--n/snapshots/1/m");
  EXPECT_EQ(file.expected.value().hex, sha256);
  EXPECT_FALSE(file.is_outside);
  EXPECT_FALSE(file.is_missing);
  EXPECT_EQ(records.find(shared).expected.value().hex, sha256);
  EXPECT_TRUE(records.find(hub + "/models--o--n/snapshots/1/away").is_outside);
  EXPECT_TRUE(records.find(hub + "/models--o--n/blobs/" + sha1).is_outside);
  const auto links = shared_links(hub);
  ASSERT_EQ(links.size(), 1u);
  EXPECT_EQ(links[0].blob, hub + "/models--o--n/blobs/" + sha256);
  EXPECT_EQ(links[0].target, xet);
  EXPECT_EQ(shared_blob_root(shared), hub + "/");
  EXPECT_EQ(shared_blob_root(hub + "/models--o--n/blobs/" + sha256), "");
  std::filesystem::remove(shared);
  EXPECT_TRUE(records.find(hub + "/models--o--n/snapshots/1/m").is_missing);
}

TEST(DownloadRecord, AManifestLiesInFourFolders) {
  const test::TempDir folder;
  const std::string models = folder.path() + "/models";
  for (const char* made : {"/blobs", "/manifests/host/space/name"}) std::filesystem::create_directories(models + made);
  EXPECT_TRUE(is_ollama_manifest(models + "/manifests/host/space/name/tag"));
  EXPECT_FALSE(is_ollama_manifest(models + "/manifests/host/space/name"));
  EXPECT_FALSE(is_ollama_manifest(models + "/blobs/tag"));
  EXPECT_FALSE(is_ollama_manifest("/tag"));
}

}  // namespace
}  // namespace modelutils

// Manifest entries are returned from their blocks unchanged, whatever fields they have and however long their texts
// are.
#include "verify/manifest/entries.h"

#include <gtest/gtest.h>

#include <vector>

#include "support/temp_dir.h"
#include "verify/manifest/manifest.h"

namespace modelutils {
namespace {

using Subject = ManifestEntry::Subject;

TEST(ManifestEntries, KeepEveryMemberAcrossBlocks) {
  const std::string texts[] = {
      "", "a", std::string(127, 'b'), std::string(128, 'c'), std::string(300'000, 'd'), std::string(1'000'000, 'e')};
  const std::string digest(64, '\xF7');
  ManifestEntries entries;
  std::vector<ManifestEntry> wanted;
  for (u64 i = 0; i < 3000; ++i) {
    ManifestEntry entry;
    entry.subject = static_cast<Subject>(i % 3);
    entry.algorithm = static_cast<HashAlgorithm>(i % hash_algorithms);
    entry.digest = std::string_view(digest).substr(0, digest_bytes(entry.algorithm));
    entry.is_git_blob = i % 4 == 1;
    entry.file = texts[i % 4];
    if (i % 7 == 0) entry.tensor = texts[i % 5 == 0 && i < 100 ? 5 : 3];
    if (i % 11 == 0) entry.bytes = u64{1} << (i % 64);
    if (i % 13 == 0) entry.offset = i;
    if (i % 17 == 0) entry.dtype = texts[1];
    if (i % 19 == 0) entry.unsplit = texts[i < 100 ? 4 : 2];
    wanted.push_back(entry);
    entries.push_back(entry);
  }
  const ManifestEntries moved = std::move(entries);
  ASSERT_EQ(moved.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const ManifestEntry entry = moved[i];
    const auto members = [](const ManifestEntry& each) {
      return std::tuple(each.subject, each.algorithm, each.digest, each.is_git_blob, each.file, each.tensor, each.bytes,
                        each.offset, each.dtype, each.unsplit);
    };
    ASSERT_TRUE(members(entry) == members(wanted[i])) << i;
  }
}

TEST(ManifestEntries, DigestsAreShownInLowerCase) {
  ManifestEntry entry;
  entry.digest = std::string_view("\x00\xAB\x9f", 3);
  EXPECT_EQ(entry.hex(), "00ab9f");
}

// The file is read in pieces, so lines span their boundaries.
TEST(ManifestEntries, AFileOfManyLinesIsReadAsItsTextIs) {
  std::string text = "\xEF\xBB\xBF# a comment\r\n";
  for (int i = 0; i < 5000; ++i) {
    text += std::string(64, "0123456789abcdef"[i % 16]) + "  " +
            std::string(static_cast<std::size_t>(i % 90) + 1, 'n') + std::to_string(i) + (i % 3 == 0 ? "\r\n" : "\n");
  }
  text += std::string(64, 'A') + " *" + std::string(200'000, 'x');  // the last line has no line feed
  const test::TempDir folder;
  const std::string path = folder.write("sums", text);
  const auto loaded = load_manifest(path);
  const auto parsed = parse_manifest(text, path);
  ASSERT_TRUE(loaded && parsed);
  ASSERT_EQ(loaded->entries.size(), 5001u);
  ASSERT_EQ(parsed->entries.size(), 5001u);
  for (std::size_t i = 0; i < parsed->entries.size(); ++i) {
    ASSERT_EQ(loaded->entries[i].file, parsed->entries[i].file);
    ASSERT_EQ(loaded->entries[i].digest, parsed->entries[i].digest);
  }
  EXPECT_EQ(loaded->entries[5000].file.size(), 200'000u);
}

}  // namespace
}  // namespace modelutils

// Finds the lines of a manifest about a file; compared with a linear search by the rules in ManifestIndex's header.
#include "verify/manifest/entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

namespace modelutils {
namespace {

const std::string digest(32, 'd');

void add(ManifestEntries& entries, std::string_view file, std::string_view unsplit) {
  ManifestEntry entry;
  entry.subject = ManifestEntry::Subject::file;
  entry.digest = digest;
  entry.file = file;
  entry.unsplit = unsplit;
  entries.push_back(entry);
}

using Found = std::vector<std::pair<std::size_t, std::string>>;

Found found(const ManifestIndex& index, std::string_view name) {
  Found lines;
  for (const auto& match : index.about(name)) lines.emplace_back(match.entry, match.rest);
  return lines;
}

// Tries every position in every line.
Found expected(const ManifestEntries& entries, std::string_view name) {
  Found lines;
  for (std::size_t i = 0; i < entries.size() && !name.empty(); ++i) {
    const ManifestEntry entry = entries[i];
    if (entry.unsplit.empty()) {
      if (entry.file == name) lines.emplace_back(i, "");
      continue;
    }
    const std::string_view text = entry.unsplit;
    for (std::size_t at = 0; at + name.size() <= text.size(); ++at) {
      const bool begins = at == 0 || text[at - 1] == '/' || text[at - 1] == '\\';
      const std::size_t end = at + name.size();
      if (!begins || text.substr(at, name.size()) != name || (end < text.size() && text[end] != ':')) continue;
      lines.emplace_back(i, text.substr(end));
      break;
    }
  }
  return lines;
}

TEST(ManifestIndex, FindsWhatALookAtEveryLineFinds) {
  std::mt19937 random(7);
  const auto text = [&](std::string_view letters) {
    std::string made;
    for (std::size_t n = random() % 7; n > 0; --n) made += letters[random() % letters.size()];
    return made;
  };
  std::size_t matches = 0;
  for (int round = 0; round < 300; ++round) {
    ManifestEntries entries;
    for (int i = 0; i < 60; ++i) {
      if (random() % 2 == 0)
        add(entries, text("ab/"), "");
      else
        add(entries, "", text("ab/\\:"));
    }
    const ManifestIndex index(entries);
    for (int i = 0; i < 60; ++i) {
      std::string name = text("ab/:");
      // Excluded by the header.
      const std::size_t begin = name.find_first_not_of('/');
      if (begin == name.npos || name[begin] == ':') name.insert(std::min(begin, name.size()), "a");
      ASSERT_EQ(found(index, name), expected(entries, name)) << "'" << name << "' in round " << round;
      matches += found(index, name).size();

      std::vector<std::string> with_base;
      const std::string base = name.substr(name.rfind('/') + 1);
      for (std::size_t line = 0; line < entries.size(); ++line) {
        const std::string_view file = entries[line].file;
        if (!base.empty() && file.substr(file.rfind('/') + 1) == base) with_base.emplace_back(file);
      }
      std::sort(with_base.begin(), with_base.end());
      with_base.erase(std::unique(with_base.begin(), with_base.end()), with_base.end());
      const auto only = index.only_name_with_base(base);
      ASSERT_EQ(only.has_value(), with_base.size() == 1) << base;
      if (only) {
        ASSERT_EQ(*only, with_base[0]);
      }
    }
  }
  EXPECT_GT(matches, 1000u);
}

// Each look-up must cost only its results: 40,000 look-ups among as many lines with the same base name would take
// minutes if each examined every line.
TEST(ManifestIndex, FilesOfOneNameInManyFoldersAreFoundEach) {
  ManifestEntries entries;
  const auto name = [](std::size_t i) { return "folder" + std::to_string(i) + "/model.gguf"; };
  const std::size_t lines = 40'000;
  for (std::size_t i = 0; i < lines; ++i)
    add(entries, i % 2 == 0 ? name(i) : "", i % 2 == 0 ? "" : name(i) + ":tensor");
  const ManifestIndex index(entries);
  for (std::size_t i = 0; i < lines; ++i) {
    const Found wanted = {{i, i % 2 == 0 ? "" : ":tensor"}};
    ASSERT_EQ(found(index, name(i)), wanted);
    ASSERT_FALSE(index.only_name_with_base("model.gguf"));
  }
}

}  // namespace
}  // namespace modelutils

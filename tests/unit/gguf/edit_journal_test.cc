#include "gguf/edit_journal.h"

#include <gtest/gtest.h>

#include "base/byte_writer.h"
#include "support/temp_dir.h"

namespace modelutils::gguf {
namespace {

// An edit of a header of 12 bytes from "old header.." to "new header!!".
EditJournal edit() {
  return {.writer = "process 17 on host",
          .header_size = 12,
          .old_digest = header_digest("old header.."),
          .new_digest = header_digest("new header!!"),
          .ranges = {{0, "old", "new"}, {10, "..", "!!"}}};
}

std::string state(const EditJournal& journal, const std::string& content) {
  const test::TempDir dir;
  const auto found = edit_state(journal, **RandomAccessFile::open(dir.write("m.gguf", content)));
  if (!found) return found.error();
  return *found == EditState::not_begun ? "not begun" : *found == EditState::torn ? "torn" : "written";
}

// The same edit as a version 1 journal, by hand: with boot id, device, inode and size, and without the new bytes.
std::string version_1() {
  std::string out = "GGUFEDIT";
  put<u32>(out, 1);
  put_text(out, "boot");
  for (const u64 number : {7, 8, 16, 12}) put(out, number);
  put_text(out, header_digest("old header.."));
  put_text(out, header_digest("new header!!"));
  put<u64>(out, 1);
  put<u64>(out, 0);
  put_text(out, "old header..");
  return out + header_digest(out);
}

TEST(EditJournal, TellsHowFarTheEditCame) {
  EXPECT_EQ(state(edit(), "new header!!data"), "written");
  EXPECT_EQ(state(edit(), "old header..data"), "not begun");
  EXPECT_EQ(state(edit(), "old header!!data"), "torn");
  EXPECT_EQ(state(edit(), "nld header..data, and more of it"), "torn");
  EXPECT_EQ(state(edit(), "old HEADER..data"), "it was written for another header");
  EXPECT_EQ(state(edit(), "oxd header..data"), "the file has changed since it was written");
  EXPECT_EQ(state(edit(), "new header!"), "the file is shorter than the header it was written for");
}

TEST(EditJournal, SurvivesItsOwnFileForm) {
  const auto read = EditJournal::decode(edit().encode());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->writer, "process 17 on host");
  EXPECT_EQ(read->ranges[1].offset, 10U);
  EXPECT_EQ(read->ranges[1].before, "..");
  EXPECT_EQ(read->ranges[1].after, "!!");
  EXPECT_EQ(state(*read, "old header!!data"), "torn");
}

TEST(EditJournal, VersionOneStillCounts) {
  const auto read = EditJournal::decode(version_1());
  ASSERT_TRUE(read);
  EXPECT_EQ(state(*read, "new header!!data"), "written");
  EXPECT_EQ(state(*read, "new header..data"), "torn");
}

TEST(EditJournal, DoesNotBeginLikeAModel) {
  EXPECT_FALSE(edit().encode().starts_with("GGUF"));
}

TEST(EditJournal, EveryFlippedBitAndEveryCutIsNoticed) {
  for (const std::string& whole : {edit().encode(), version_1()}) {
    ASSERT_TRUE(EditJournal::decode(whole));
    for (std::size_t i = 0; i < whole.size(); ++i) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ 1);
      EXPECT_FALSE(EditJournal::decode(changed)) << i;
      EXPECT_FALSE(EditJournal::decode(whole.substr(0, i))) << i;
    }
    EXPECT_FALSE(EditJournal::decode(whole + "x"));
  }
}

TEST(EditJournal, RangesAscendAndLieInTheHeader) {
  const std::vector<std::vector<EditRange>> wrong = {{{10, "abc", "def"}},
                                                     {{~u64{0}, "abc", "def"}},
                                                     {{4, "abc", "def"}, {6, "a", "b"}},
                                                     {{4, "a", "b"}, {0, "a", "b"}}};
  for (const std::vector<EditRange>& ranges : wrong) {
    EditJournal journal = edit();
    journal.ranges = ranges;
    EXPECT_FALSE(EditJournal::decode(journal.encode())) << ranges.front().offset;
  }
  EditJournal journal = edit();
  journal.header_size = (u64{1} << 30) + 1;
  EXPECT_FALSE(EditJournal::decode(journal.encode())) << "a header of a gigabyte is none";
}

// Ranges across the boundaries of the pieces read at once.
TEST(EditJournal, LongHeadersAreComparedInPieces) {
  const std::size_t size = (std::size_t{1} << 19) + 100;
  std::string old_header(size, 'o');
  std::string new_header = old_header;
  EditJournal journal;
  journal.header_size = size;
  for (const std::size_t at : {std::size_t{0}, (std::size_t{1} << 18) - 3, (std::size_t{1} << 19) - 1, size - 5}) {
    journal.ranges.push_back({at, std::string(5, 'o'), "nnnnn"});
    new_header.replace(at, 5, "nnnnn");
  }
  journal.old_digest = header_digest(old_header);
  journal.new_digest = header_digest(new_header);
  EXPECT_EQ(state(journal, new_header), "written");
  for (const EditRange& range : journal.ranges) {
    std::string torn = new_header;
    torn[static_cast<std::size_t>(range.offset) + 4] = 'o';
    EXPECT_EQ(state(journal, torn), "torn") << range.offset;
    torn[static_cast<std::size_t>(range.offset) + 4] = 'x';
    EXPECT_EQ(state(journal, torn), "the file has changed since it was written") << range.offset;
  }
}

}  // namespace
}  // namespace modelutils::gguf

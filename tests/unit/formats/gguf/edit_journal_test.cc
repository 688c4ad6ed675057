#include "formats/gguf/edit_journal.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/byte_reader.h"
#include "base/os/files.h"
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

namespace fs = std::filesystem;

// A file whose header is partly "old header.." and partly "new header..", without its journal.
class FindJournal : public testing::Test {
 protected:
  std::string finding() const {
    const auto found = interrupted_edit(**RandomAccessFile::open(path_), path_);
    return found ? found->code + ": " + found->message : "";
  }
  std::string finding_with(const std::string& name, const std::string& content) const {
    const std::string path = dir_.write(name, content);
    std::string said = finding();
    fs::remove(path);
    return said;
  }

  test::TempDir dir_;
  std::string path_ = dir_.write("m.gguf", "nld header..data");
  std::string journal_ = EditJournal{
      .writer = "process 17 on host",
      .header_size = 12,
      .old_digest = header_digest("old header.."),
      .new_digest = header_digest("new header.."),
      .ranges = {
          {0, "old", "new"}}}.encode();
};

TEST_F(FindJournal, NextToTheFileUnderItsNameOrAnother) {
  EXPECT_EQ(finding(), "");
  EXPECT_EQ(finding_with("m.gguf.edit-journal", journal_),
            "gguf-edit-interrupted: an edit of this file was interrupted (m.gguf.edit-journal, by process 17 on "
            "host); run gguf-edit --recover on it");
  EXPECT_EQ(finding_with("before.gguf.edit-journal", journal_),
            "gguf-edit-interrupted: an edit of this file under another name was interrupted "
            "(before.gguf.edit-journal, by process 17 on host); run gguf-edit --recover on it");
}

TEST_F(FindJournal, AWholeHeaderHasNoFindingForAJournalOfAnotherName) {
  dir_.write("m.gguf", "new header..data");
  EXPECT_EQ(finding_with("before.gguf.edit-journal", journal_), "");
  EXPECT_NE(finding_with("m.gguf.edit-journal", journal_), "");
  EXPECT_EQ(find_moved_journals(**RandomAccessFile::open(path_), path_).found.size(), 0U);
}

TEST_F(FindJournal, WhatDoesNotCountIsAWarningUnderTheFilesOwnName) {
  const std::string own = "m.gguf.edit-journal";
  const auto begins = [](const std::string& reason) {
    return "gguf-edit-journal: m.gguf.edit-journal has the name of an interrupted edit's journal, but is ignored: " +
           reason;
  };
  EXPECT_TRUE(finding_with(own, "").starts_with(begins("it is not a complete journal")));
  EXPECT_TRUE(finding_with(own, journal_.substr(0, 99)).starts_with(begins("it is not a complete journal")));
  fs::create_directory(dir_.file(own));
  EXPECT_TRUE(finding().starts_with(begins("it is not a regular file")));
  fs::remove(dir_.file(own));
  if (test::is_posix) {
    test::make_fifo(dir_.file(own));
    EXPECT_TRUE(finding().starts_with(begins("it is not a regular file")));
    fs::remove(dir_.file(own));
  }
  if (test::can_link()) {
    test::make_link(dir_.write("elsewhere", journal_), dir_.file(own));
    EXPECT_TRUE(finding().starts_with(begins("it is a symbolic link")));
    fs::remove(dir_.file(own));
  }
  dir_.write("m.gguf", "odd HEADER..data");
  EXPECT_TRUE(finding_with(own, journal_).starts_with(begins("it was written for another header")));
}

// It may be this file's journal under an earlier name, unless a file of that name exists, or the journal's contents
// rule it out.
TEST_F(FindJournal, ABrokenJournalWithoutItsFileIsAWarning) {
  const std::string other = "other.gguf.edit-journal", cut = journal_.substr(0, 99);
  EXPECT_TRUE(finding_with(other, cut).starts_with("gguf-edit-journal: other.gguf.edit-journal has the name"));
  dir_.write("other.gguf", "");
  EXPECT_EQ(finding_with(other, cut), "");
  fs::remove(dir_.file("other.gguf"));
  dir_.write("m.gguf", "old HEADER..data");
  EXPECT_EQ(finding_with(other, journal_), "") << "of another header";
  dir_.write("m.gguf", "short");
  EXPECT_EQ(finding_with(other, journal_), "") << "of a longer header";
  dir_.write("m.gguf", "xld header..data");
  EXPECT_TRUE(finding_with(other, journal_).starts_with("gguf-edit-journal")) << "changed since";
}

TEST_F(FindJournal, TheOwnerOfTheFileRootOrTheUserMayHaveWrittenIt) {
  if (!test::is_root()) GTEST_SKIP() << "only root gives files away";
  const std::string journal = dir_.write("m.gguf.edit-journal", journal_);
  test::give_to(test::nobody, path_);
  EXPECT_TRUE(finding().starts_with("gguf-edit-interrupted")) << "root's";
  test::give_to(test::nobody, journal);
  EXPECT_TRUE(finding().starts_with("gguf-edit-interrupted")) << "the owner's";
  test::give_to(0, path_);
  EXPECT_NE(finding().find("its owner is not the file's"), std::string::npos);
  const auto file = RandomAccessFile::open(path_);
  EXPECT_TRUE(look_at_journal(**file, journal, JournalOwner::anybody).found);
}

// A sparse file of one terabyte, more than fits into memory.
TEST_F(FindJournal, AHugeOneIsNotRead) {
  for (const std::string& beginning : {std::string(), journal_}) {
    const int file = os::open(dir_.write("m.gguf.edit-journal", beginning), os::reading_and_writing);
    ASSERT_GE(file, 0);
    const bool is_huge = os::set_size(file, u64{1} << 40);
    os::close(file);
    if (!is_huge) GTEST_SKIP() << "Windows has no file of a terabyte on a smaller disk";
    EXPECT_NE(finding().find("it is not a complete journal"), std::string::npos);
  }
}

TEST_F(FindJournal, ManyOthersAreNotAllLookedAt) {
  for (int i = 0; i < 70; ++i) dir_.write("a" + std::to_string(i) + ".edit-journal", "");
  dir_.write("z.edit-journal", journal_);
  EXPECT_TRUE(finding().starts_with("gguf-edit-journal: this folder has more than 64 journals"));
}

}  // namespace

}  // namespace modelutils::gguf

#include "gguf/find_journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace modelutils::gguf {
namespace {

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
  ASSERT_EQ(::mkfifo(dir_.file(own).c_str(), 0600), 0);
  EXPECT_TRUE(finding().starts_with(begins("it is not a regular file")));
  fs::remove(dir_.file(own));
  fs::create_symlink(dir_.write("elsewhere", journal_), dir_.file(own));
  EXPECT_TRUE(finding().starts_with(begins("it is a symbolic link")));
  fs::remove(dir_.file(own));
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
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const std::string journal = dir_.write("m.gguf.edit-journal", journal_);
  const auto owner = [](const std::string& path, uid_t user) { ASSERT_EQ(::chown(path.c_str(), user, 0), 0); };
  owner(path_, 65534);
  EXPECT_TRUE(finding().starts_with("gguf-edit-interrupted")) << "root's";
  owner(journal, 65534);
  EXPECT_TRUE(finding().starts_with("gguf-edit-interrupted")) << "the owner's";
  owner(path_, 0);
  EXPECT_NE(finding().find("its owner is not the file's"), std::string::npos);
  const auto file = RandomAccessFile::open(path_);
  EXPECT_TRUE(look_at_journal(**file, journal, JournalOwner::anybody).found);
}

// A sparse file of one terabyte, more than fits into memory.
TEST_F(FindJournal, AHugeOneIsNotRead) {
  for (const std::string& beginning : {std::string(), journal_}) {
    fs::resize_file(dir_.write("m.gguf.edit-journal", beginning), u64{1} << 40);
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

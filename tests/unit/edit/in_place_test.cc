#include "edit/in_place.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/os/files.h"
#include "formats/gguf/edit_journal.h"
#include "io/random_access_file.h"
#include "support/temp_dir.h"

namespace modelutils::edit {
namespace {

class EditInPlace : public testing::Test {
 protected:
  std::string refusal(bool force = false) {
    remarks_.clear();
    const auto file = ExclusiveFile::open(path_, {.force = force, .any_name = force}, remarks_);
    return file ? "" : file.error().code;
  }

  test::TempDir dir_;
  std::string path_ = dir_.write("m.gguf", "old header..data");
  Findings remarks_;
};

TEST_F(EditInPlace, RefusesAFileThatIsMappedSomewhere) {
  if (os::take_lease(-1) == ENOSYS) GTEST_SKIP() << "a system without leases does not tell";
  const int descriptor = os::open(path_, os::reading);
  ASSERT_GE(descriptor, 0);
  const std::byte* mapped = os::map(descriptor, 16);
  ASSERT_NE(mapped, nullptr);
  os::close(descriptor);
  EXPECT_EQ(refusal(), "edit-in-use");
  EXPECT_EQ(refusal(true), "");
  ASSERT_EQ(remarks_.size(), 1U);
  EXPECT_EQ(remarks_.front().code, "edit-in-use");
  os::unmap(mapped, 16);
  EXPECT_EQ(refusal(), "");
  EXPECT_TRUE(remarks_.empty());
}

TEST_F(EditInPlace, RefusesAFileOfAnotherUser) {
  if (!test::is_root()) GTEST_SKIP() << "only root can be somebody else";
  ASSERT_TRUE(os::set_mode(dir_.path(), 0777));
  ASSERT_TRUE(os::set_mode(path_, 0666));
  const test::AsNobody user;
  EXPECT_EQ(refusal(true), "edit-owner");
}

TEST_F(EditInPlace, RefusesASecondEditWhateverItsName) {
  const std::string other = dir_.file("other.gguf");
  std::filesystem::create_hard_link(path_, other);
  const int first = os::open(other, os::reading_and_writing);
  ASSERT_EQ(lock_for_edit(first), EditLock::taken);
  EXPECT_TRUE(is_edit_locked((*RandomAccessFile::open(path_))->descriptor()));
  EXPECT_EQ(refusal(true), "edit-in-use");
  os::close(first);
  EXPECT_EQ(refusal(true), "");
}

// As on a file system without leases and locks: the journal of the first edit prevents the second.
TEST_F(EditInPlace, AJournalThatIsThereIsNotReplaced) {
  gguf::EditJournal journal{.writer = "process 17 on host",
                            .header_size = 12,
                            .old_digest = gguf::header_digest("old header.."),
                            .new_digest = gguf::header_digest("NEW header.."),
                            .ranges = {{0, "old", "NEW"}}};
  const std::string name = dir_.write("m.gguf.edit-journal", journal.encode());
  const HeaderChange change = header_change(path_, "old header..", "new header..", 16);
  const Status refused = change_header(change, true, remarks_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "edit-in-use");
  EXPECT_NE(refused.error().message.find("process 17 on host"), std::string::npos);
  EXPECT_EQ(test::read_file(path_), "old header..data");
  EXPECT_EQ(test::read_file(name), journal.encode());
}

class Recover : public EditInPlace {
 protected:
  void SetUp() override {
    dir_.write("m.gguf", "nld header..data");
    journal_ = gguf::EditJournal{.writer = "",
                                 .header_size = 12,
                                 .old_digest = gguf::header_digest("old header.."),
                                 .new_digest = gguf::header_digest("new header.."),
                                 .ranges = {{0, "old", "new"}}}
                   .encode();
  }
  bool is_there(const std::string& name) const { return std::filesystem::exists(dir_.file(name)); }

  std::string journal_;
};

TEST_F(Recover, ByTheJournalOfAnEarlierName) {
  dir_.write("before.edit-journal", journal_);
  EXPECT_EQ(recover_header(path_, {}, remarks_), Recovery::restored);
  EXPECT_EQ(test::read_file(path_), "old header..data");
  EXPECT_FALSE(is_there("before.edit-journal")) << "its file is gone";
  EXPECT_EQ(recover_header(path_, {}, remarks_), Recovery::nothing_to_do);
}

TEST_F(Recover, TheJournalOfAFileThatIsThereStays) {
  dir_.write("before", "nld header..data");
  dir_.write("before.edit-journal", journal_);
  EXPECT_EQ(recover_header(path_, {}, remarks_), Recovery::restored);
  EXPECT_TRUE(is_there("before.edit-journal"));
  ASSERT_FALSE(remarks_.empty());
  EXPECT_EQ(remarks_.back().code, "edit-journal-kept");  // without leases, that remark comes first
}

TEST_F(Recover, ThroughAHardLink) {
  std::filesystem::create_hard_link(path_, dir_.file("other"));
  dir_.write("m.gguf.edit-journal", journal_);
  EXPECT_EQ(recover_header(dir_.file("other"), {}, remarks_), Recovery::restored);
  EXPECT_EQ(test::read_file(path_), "old header..data");
  EXPECT_FALSE(is_there("m.gguf.edit-journal"));
}

TEST_F(Recover, ByAJournalThatIsNamed) {
  const std::string elsewhere = dir_.write("saved", journal_);
  EXPECT_EQ(recover_header(path_, {.journal = dir_.file("missing")}, remarks_).error().code, "io-open");
  EXPECT_EQ(recover_header(path_, {.journal = path_}, remarks_).error().code, "edit-journal-foreign");
  EXPECT_EQ(recover_header(path_, {.journal = elsewhere}, remarks_), Recovery::restored);
  EXPECT_EQ(test::read_file(path_), "old header..data");
  EXPECT_TRUE(is_there("saved"));
}

TEST_F(Recover, AWholeNewHeaderIsKept) {
  dir_.write("m.gguf", "new header..data");
  dir_.write("before.edit-journal", journal_);
  EXPECT_EQ(recover_header(path_, {}, remarks_), Recovery::completed);
  EXPECT_EQ(test::read_file(path_), "new header..data");
}

TEST_F(EditInPlace, RefusesAFileThatIsNotTheOneOfThePlan) {
  HeaderChange change = header_change(path_, "old header..", "new header..", 16);
  dir_.write("m.gguf", "odd header..data");
  EXPECT_EQ(change_header(change, true, remarks_).error().code, "edit-changed");
  EXPECT_EQ(test::read_file(path_), "odd header..data");
  dir_.write("m.gguf", "old header..data and more");
  EXPECT_EQ(change_header(change, true, remarks_).error().code, "edit-changed");
  dir_.write("m.gguf", "old header..data");
  EXPECT_TRUE(change_header(change, false, remarks_));
  EXPECT_EQ(test::read_file(path_), "new header..data");
}

}  // namespace
}  // namespace modelutils::edit

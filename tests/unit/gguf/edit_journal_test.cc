#include "gguf/edit_journal.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "support/temp_dir.h"

namespace modelutils::gguf {
namespace {

namespace fs = std::filesystem;

// A file of 16 bytes whose header of 12 has become "new header..", and its journal.
class Journal : public testing::Test {
 protected:
  void SetUp() override {
    path_ = dir_.write("m.gguf", "new header..data");
    struct stat status {};
    ASSERT_EQ(::stat(path_.c_str(), &status), 0);
    journal_.boot = boot_id();
    journal_.device = status.st_dev;
    journal_.inode = status.st_ino;
    journal_.file_size = 16;
    journal_.header_size = 12;
    journal_.old_digest = header_digest("old header..");
    journal_.new_digest = header_digest("new header..");
    journal_.ranges = {{0, "old"}};
  }
  JournalSearch search() const { return find_journal(**RandomAccessFile::open(path_), path_); }
  JournalSearch search_with(const std::string& journal) const {
    dir_.write("m.gguf.edit-journal", journal);
    return search();
  }

  test::TempDir dir_;
  std::string path_;
  EditJournal journal_;
};

TEST_F(Journal, TellsHowFarTheEditCame) {
  EXPECT_FALSE(search().found);
  EXPECT_EQ(search().rejected, "");
  EXPECT_EQ(search_with(journal_.encode()).found->state, EditState::written);
  dir_.write("m.gguf", "old header..data");
  EXPECT_EQ(search().found->state, EditState::not_begun);
  dir_.write("m.gguf", "nld header..data");
  EXPECT_EQ(search().found->state, EditState::torn);
  dir_.write("m.gguf", "old HEADER..data");
  EXPECT_EQ(search().rejected, "the file has been changed since it was made");
}

TEST_F(Journal, CountsForItsOwnFileOnly) {
  EditJournal other = journal_;
  ++other.inode;
  EXPECT_EQ(search_with(other.encode()).rejected, "it was made for another file");
  other = journal_;
  ++other.file_size;
  EXPECT_EQ(search_with(other.encode()).rejected, "it was made for another file");
  other = journal_;
  ++other.device;
  EXPECT_EQ(search_with(other.encode()).rejected, "it was made for a file on another device");
  other.boot = "another one";
  EXPECT_TRUE(search_with(other.encode()).found) << "device numbers mean nothing after a reboot";
  fs::create_symlink(dir_.write("elsewhere", journal_.encode()), dir_.file("link"));
  fs::rename(dir_.file("link"), dir_.file("m.gguf.edit-journal"));
  EXPECT_NE(search().rejected, "") << "a link is not followed";
}

TEST_F(Journal, CountsIfItIsOfTheSameOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  dir_.write("m.gguf.edit-journal", journal_.encode());
  ASSERT_EQ(::chown(dir_.file("m.gguf.edit-journal").c_str(), 65534, 65534), 0);
  EXPECT_EQ(search().rejected, "its owner is not that of the file");
}

TEST_F(Journal, EveryFlippedBitAndEveryCutIsNoticed) {
  const std::string whole = journal_.encode();
  ASSERT_TRUE(search_with(whole).found);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    std::string changed = whole;
    changed[i] = static_cast<char>(changed[i] ^ 1);
    EXPECT_FALSE(search_with(changed).found) << i;
    EXPECT_FALSE(search_with(whole.substr(0, i)).found) << i;
  }
  EXPECT_FALSE(search_with(whole + "x").found);
}

TEST_F(Journal, RangesLieInTheHeader) {
  journal_.ranges = {{10, "abc"}};
  EXPECT_EQ(search_with(journal_.encode()).rejected, "it is not a whole journal");
  journal_.ranges = {{~u64{0}, "abc"}};
  EXPECT_EQ(search_with(journal_.encode()).rejected, "it is not a whole journal");
  journal_.header_size = 17;
  EXPECT_EQ(search_with(journal_.encode()).rejected, "it is not a whole journal");
}

// A terabyte of holes, which nobody has the memory for.
TEST_F(Journal, AHugeOneIsNotRead) {
  for (const std::string& beginning : {std::string(), journal_.encode()}) {
    fs::resize_file(dir_.write("m.gguf.edit-journal", beginning), u64{1} << 40);
    EXPECT_EQ(search().rejected, "it is not a whole journal");
  }
}

}  // namespace
}  // namespace modelutils::gguf

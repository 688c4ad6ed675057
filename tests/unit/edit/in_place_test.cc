#include "edit/in_place.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "edit/exclusive_file.h"
#include "support/temp_dir.h"

namespace modelutils::edit {
namespace {

class EditInPlace : public testing::Test {
 protected:
  std::string refusal(bool force = false) {
    remarks_.clear();
    const auto file = ExclusiveFile::open(path_, force, remarks_);
    return file ? "" : file.error().code;
  }

  test::TempDir dir_;
  std::string path_ = dir_.write("m.gguf", "old header..data");
  Findings remarks_;
};

TEST_F(EditInPlace, RefusesAFileThatIsMappedSomewhere) {
  const int descriptor = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(descriptor, 0);
  void* mapped = ::mmap(nullptr, 16, PROT_READ, MAP_SHARED, descriptor, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  ::close(descriptor);
  EXPECT_EQ(refusal(), "edit-in-use");
  EXPECT_EQ(refusal(true), "");
  ASSERT_EQ(remarks_.size(), 1U);
  EXPECT_EQ(remarks_.front().code, "edit-in-use");
  ::munmap(mapped, 16);
  EXPECT_EQ(refusal(), "");
  EXPECT_TRUE(remarks_.empty());
}

TEST_F(EditInPlace, RefusesAFileOfAnotherUser) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  constexpr uid_t nobody = 65534;
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0777), 0);
  ASSERT_EQ(::chmod(path_.c_str(), 0666), 0);
  ASSERT_EQ(::seteuid(nobody), 0);
  const std::string code = refusal(true);
  ASSERT_EQ(::seteuid(0), 0);
  EXPECT_EQ(code, "edit-owner");
}

TEST_F(EditInPlace, RefusesAFileThatIsNotTheOneOfThePlan) {
  HeaderChange change{path_, "old header..", "new header..", 16};
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

#include "base/error.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace modelutils {
namespace {

Result<int> half(int value) {
  if (value % 2 != 0) return input_error("odd", "is odd");
  return value / 2;
}
Result<int> quarter(int value) {
  MU_ASSIGN(const int once, half(value));
  MU_ASSIGN(const int twice, half(once));
  return twice;
}
Status is_even(int value) {
  MU_TRY(half(value));
  return {};
}

TEST(Error, TravelsUpTheMacros) {
  EXPECT_EQ(quarter(12).value(), 3);
  EXPECT_EQ(quarter(6).error().code, "odd");
  EXPECT_TRUE(is_even(2).has_value());
  EXPECT_EQ(is_even(3).error().message, "is odd");
}

TEST(Error, KindsDecideTheExitStatus) {
  EXPECT_EQ(input_error("c", "m").value().kind, ErrorKind::input);
  EXPECT_EQ(output_error("c", "m", "f").value().kind, ErrorKind::output);
  EXPECT_EQ(usage_error("m").value().kind, ErrorKind::usage);
  EXPECT_EQ(internal_error("m").value().kind, ErrorKind::internal);
  EXPECT_EQ(no_match_error("w", "m", "f").value().kind, ErrorKind::no_match);
}

TEST(Error, InFileKeepsAFileThatIsNamed) {
  EXPECT_EQ(in_file(input_error("c", "m").value(), "new").file, "new");
  EXPECT_EQ(in_file(input_error("c", "m", {}, {}, "old").value(), "new").file, "old");
}

TEST(Error, Texts) {
  EXPECT_EQ(errno_text(ENOENT), "No such file or directory");
}

}  // namespace
}  // namespace modelutils

#include "io/text_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "support/temp_dir.h"

namespace modelutils {
namespace {

TEST(TextOutput, BuffersAndWrites) {
  const test::TempDir folder;
  const std::string path = folder.write("out", "");
  const int descriptor = ::open(path.c_str(), O_WRONLY);
  {
    TextOutput out(descriptor);
    out << "one"
        << " two";
    EXPECT_EQ(test::read_file(path), "");
    EXPECT_TRUE(out.flush().has_value());
    EXPECT_EQ(test::read_file(path), "one two");
    out << std::string(200000, 'x');
    EXPECT_GT(test::read_file(path).size(), 100000u) << "without being asked";
    out << "!";
  }
  ::close(descriptor);
  EXPECT_EQ(test::read_file(path), "one two" + std::string(200000, 'x') + "!") << "the destructor writes the rest";
}

TEST(TextOutput, AFullDiskIsAnError) {
  const int full = ::open("/dev/full", O_WRONLY);
  TextOutput out(full);
  out << "text";
  const Status status = out.flush();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, "out-write");
  EXPECT_EQ(status.error().kind, ErrorKind::output);
  EXPECT_FALSE(out.flush().has_value()) << "and stays one";
  ::close(full);
}

TEST(TextOutput, AReaderThatGoesAwayIsNone) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  TextOutput out(ends[1]);
  out << "text";
  EXPECT_FALSE(out.closed());
  EXPECT_TRUE(out.flush().has_value());
  EXPECT_TRUE(out.closed());
  out << "more";
  EXPECT_TRUE(out.flush().has_value());
  ::close(ends[1]);
  ::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace modelutils

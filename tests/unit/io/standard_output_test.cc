#include "io/standard_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/atomic_output.h"
#include "io/random_access_file.h"
#include "io/text_output.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::TempDir;

// Runs `body`, which returns a number, in a child process whose standard output is appended to `path`.
template <typename Body>
int with_output_to(const std::string& path, Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_APPEND);
    ::dup2(descriptor, STDOUT_FILENO);
    guard_standard_output();
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

template <typename T>
bool is_refused(const Result<T>& result) {
  return !result && result.error().code == "out-is-input" && result.error().kind == ErrorKind::output;
}

TEST(StandardOutput, AnInputThatItGoesToIsRefusedBeforeTheFirstByte) {
  const TempDir folder;
  const std::string input = folder.write("in", "precious");
  const std::string other = folder.write("other", "x");
  const int failed = with_output_to(input, [&] {
    TextOutput out;
    out << "early";
    if (!RandomAccessFile::open(other)) return 1;
    if (!is_refused(RandomAccessFile::open(input))) return 2;
    if (!is_refused(open_source(input))) return 3;
    if (!is_refused(out.flush())) return 4;
    if (!is_refused(AtomicOutput::create("-", {}))) return 5;
    return 0;
  });
  EXPECT_EQ(failed, 0);
  EXPECT_EQ(test::read_file(input), "precious");
}

TEST(StandardOutput, AnInputThatIsNamedButNotOpenedIsRefused) {
  const TempDir folder;
  const std::string input = folder.write("in", "precious");
  const int failed = with_output_to(input, [&] {
    return is_refused(AtomicOutput::create("-", {.force = true, .inputs = {input}, .binary = true})) ? 0 : 1;
  });
  EXPECT_EQ(failed, 0);
}

TEST(StandardOutput, AllInputsAreComparedBeforeTheFirstByteOfOne) {
  const TempDir folder;
  const std::string one = folder.write("one", "x");
  const std::string two = folder.write("two", "x");
  const auto open = [](const std::string& path) { (void)RandomAccessFile::open(path); };
  EXPECT_EQ(with_output_to(two, [&] { return is_refused(compare_inputs({one, two}, open)) ? 0 : 1; }), 0);
  EXPECT_EQ(with_output_to(folder.write("three", "x"), [&] { return compare_inputs({one, two}, open) ? 0 : 1; }), 0);
}

TEST(StandardOutput, WithoutTheGuardNothingIsCompared) {
  const TempDir folder;
  EXPECT_TRUE(RandomAccessFile::open(folder.write("in", "x")).has_value());
  EXPECT_TRUE(standard_output_is_no_input().has_value());
}

}  // namespace
}  // namespace modelutils

#include "io/standard_output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "base/utf8.h"
#include "io/atomic_output.h"
#include "io/random_access_file.h"
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

TEST(Progress, LineTellsShareRateAndTimeLeft) {
  EXPECT_EQ(progress_line("hashing", 250'000'000, 1'000'000'000, 2, 100),
            "hashing ██████████" + std::string(30 + 2 + 1, ' ') + "25%  250 MB of 1.00 GB  125 MB/s  6s left");
  EXPECT_EQ(progress_line("x", 0, 0, 0, 26), "x 100%  0 B of 0 B");
}

TEST(Progress, LineFitsWhateverTheWidth) {
  for (std::size_t width = 0; width < 120; ++width) {
    for (const u64 done : {0, 1, 500, 999, 1000, 5000}) {
      EXPECT_LE(display_width(progress_line("label \033[2J", done, 1000, 3.5, width)), width);
    }
  }
}

TEST(Progress, ControlCharactersOfALabelAreEscaped) {
  EXPECT_EQ(progress_line("\033[2J", 1, 2, 1, 100).find('\033'), std::string::npos);
}

TEST(Progress, CountsFromManyThreads) {
  Progress progress;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 1000; ++k) progress.advance(3);
      });
    }
  }
  EXPECT_EQ(progress.done(), 12'000U);
  progress.restart("next", 5);
  EXPECT_EQ(progress.done(), 0U);
}

TEST(Progress, DrawsAndErasesItself) {
  testing::internal::CaptureStderr();
  {
    Progress progress("copying", 100, true);
    const auto start = std::chrono::steady_clock::now();
    progress.advance(10, start);  // too early to draw
    progress.advance(10, start + std::chrono::milliseconds(350));
    progress.advance(10, start + std::chrono::milliseconds(360));  // too soon after the first one
  }
  const std::string drawn = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(drawn.starts_with("\rcopying "));
  EXPECT_NE(drawn.find("20%"), std::string::npos);
  EXPECT_EQ(drawn.find("30%"), std::string::npos);
  EXPECT_TRUE(drawn.ends_with("\r\033[K"));
}

TEST(Progress, ShortRunsShowNothing) {
  testing::internal::CaptureStderr();
  { Progress("copying", 100, true).advance(100); }
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

}  // namespace

}  // namespace modelutils

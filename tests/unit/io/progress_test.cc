#include "io/progress.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/utf8.h"

namespace modelutils {
namespace {

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

#include "io/interrupt.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::TempDir;

// Runs `body` in a child process and returns its wait status.
template <typename Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(Interrupt, ASignalRemovesTemporaryFiles) {
  const TempDir folder;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM, SIGUSR1, SIGUSR2, SIGXCPU, SIGABRT}) {
    const std::string guarded = folder.write("guarded", "x");
    const std::string kept = folder.write("kept", "x");
    const std::string moved = folder.write("moved", "x");
    const int status = in_child([&] {
      ::signal(number, SIG_DFL);  // a job in the background inherits an ignored SIGINT
      install_signal_handlers();
      const TemporaryFileGuard guard(guarded);
      TemporaryFileGuard first(moved);
      TemporaryFileGuard second;
      second = std::move(first);
      { const TemporaryFileGuard done(kept); }
      ::raise(number);
    });
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + number);
    EXPECT_FALSE(std::filesystem::exists(guarded));
    EXPECT_FALSE(std::filesystem::exists(moved));
    EXPECT_TRUE(std::filesystem::exists(kept)) << "its guard was gone by then";
  }
}

TEST(Interrupt, AHeldSignalWaits) {
  const TempDir folder;
  const std::string guarded = folder.write("guarded", "x");
  const std::string reached = folder.file("reached");
  const int status = in_child([&] {
    install_signal_handlers();
    std::unique_ptr<TemporaryFileGuard> guard;
    {
      const SignalHold outer;
      {
        const SignalHold inner;
        ::raise(SIGTERM);
      }
      folder.write("reached", "x");
      guard = std::make_unique<TemporaryFileGuard>(guarded);
    }
    ::_exit(7);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  EXPECT_TRUE(std::filesystem::exists(reached)) << "it waits for the last hold";
  EXPECT_FALSE(std::filesystem::exists(guarded));
}

TEST(Interrupt, ASignalThatCameTooLateIsDropped) {
  const int status = in_child([] {
    install_signal_handlers();
    {
      SignalHold hold;
      ::raise(SIGTERM);
      hold.done();
    }
    ::raise(SIGUSR1);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGUSR1);
}

TEST(Interrupt, AnIgnoredSignalStaysIgnored) {
  const int status = in_child([] {
    ::signal(SIGHUP, SIG_IGN);
    install_signal_handlers();
    ::raise(SIGHUP);
    ::raise(SIGPIPE);
    ::_exit(7);
  });
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Interrupt, AnyNumberOfGuards) {
  const TempDir folder;
  std::vector<std::string> names;
  for (int i = 0; i < 3000; ++i) names.push_back(folder.write(std::to_string(i), "x"));
  const int ended = in_child([&] {
    install_signal_handlers();
    std::vector<TemporaryFileGuard> guards;
    for (const std::string& name : names) guards.emplace_back(name);
    ::raise(SIGTERM);
  });
  EXPECT_EQ(WEXITSTATUS(ended), 128 + SIGTERM);
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Interrupt, GuardsAreUsedAgain) {
  std::vector<TemporaryFileGuard> guards;
  for (int i = 0; i < 2000; ++i) guards.emplace_back("/nonexistent/" + std::to_string(i));
  guards.clear();
  for (int i = 0; i < 2000; ++i) guards.emplace_back("/nonexistent/" + std::to_string(i));
  guards.clear();
  const TempDir folder;
  const std::string path = folder.write("again", "x");
  const int status = in_child([&] {
    install_signal_handlers();
    const TemporaryFileGuard guard(path);
    ::raise(SIGTERM);
  });
  EXPECT_EQ(WEXITSTATUS(status), 128 + SIGTERM);
  EXPECT_FALSE(std::filesystem::exists(path)) << "slots are free again";
}

}  // namespace
}  // namespace modelutils

#include "io/temporary_name.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "support/temp_dir.h"

namespace modelutils {
namespace {

namespace fs = std::filesystem;

// The number of a process that has ended.
std::string ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  return std::to_string(child);
}

TEST(TemporaryName, IsHiddenNextToTheOutput) {
  const std::string process = std::to_string(::getpid());
  EXPECT_EQ(temporary_name("/some/where/out", 3), "/some/where/.out." + process + "-3.tmp");
  EXPECT_EQ(temporary_name("out", 0), ".out." + process + "-0.tmp");
  EXPECT_EQ(temporary_name("/x/" + std::string(255, 'n'), 0),
            "/x/." + std::string(200, 'n') + "." + process + "-0.tmp");
}

TEST(TemporaryName, OnlyWhatEndedProcessesLeftIsRemoved) {
  const test::TempDir folder;
  const std::string ended = ended_process();
  const auto make = [&](const std::string& name) { std::ofstream(folder.file(name)) << "x"; };
  make(".out." + ended + "-0.tmp");
  make(".out." + ended + "-17.tmp");
  const std::set<std::string> kept = {
      ".out." + std::to_string(::getpid()) + "-0.tmp",  // runs
      ".other." + ended + "-0.tmp",
      ".out." + ended + "-0.tmp~",
      ".out." + ended + ".tmp",
      ".out." + ended + "-.tmp",
      ".out.-" + ended + "-0.tmp",
      ".out.0-0.tmp",
      ".out.99999999999999999999-0.tmp",
      ".out.x-0.tmp",
      "out." + ended + "-0.tmp",
  };
  for (const std::string& name : kept) make(name);
  fs::create_directory(folder.file(".out." + ended + "-1.tmp"));
  fs::create_symlink("nowhere", folder.file(".out." + ended + "-2.tmp"));
  remove_abandoned(folder.file("out"), ::getuid());
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder.path())) left.insert(entry.path().filename().string());
  std::set<std::string> wanted = kept;
  wanted.insert({".out." + ended + "-1.tmp", ".out." + ended + "-2.tmp"});
  EXPECT_EQ(left, wanted);
  remove_abandoned(folder.file("missing/out"), ::getuid());  // a folder that cannot be listed is nobody's concern
}

}  // namespace
}  // namespace modelutils

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

// Returns the id of a process that has ended.
std::string ended_process() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  int status = 0;
  ::waitpid(child, &status, 0);
  return std::to_string(child);
}

// Returns the prefix that temporary_name() puts before the process id: "HOST-BOOT-".
std::string this_machine() {
  const std::string name = temporary_name("out", 0);
  const std::string begins = ".out.";
  return name.substr(begins.size(), name.find(std::to_string(::getpid()) + "-0.tmp") - begins.size());
}

TEST(TemporaryName, IsHiddenNextToTheOutput) {
  const std::string ending = this_machine() + std::to_string(::getpid());
  EXPECT_EQ(temporary_name("/some/where/out", 3), "/some/where/.out." + ending + "-3.tmp");
  EXPECT_EQ(temporary_name("/x/" + std::string(255, 'n'), 0), "/x/." + std::string(200, 'n') + "." + ending + "-0.tmp");
  EXPECT_EQ(this_machine().size(), std::string("01234567-01234567-").size());
  EXPECT_EQ(this_machine().find_first_not_of("0123456789abcdef-"), std::string::npos);
}

TEST(TemporaryName, OnlyWhatEndedProcessesOfThisMachineLeftIsRemoved) {
  const test::TempDir folder;
  const std::string ended = ended_process();
  const std::string here = this_machine();
  const std::string host = here.substr(0, 9);
  const std::string earlier = host + (here.substr(9) == "00000000-" ? "11111111-" : "00000000-");
  std::string elsewhere = here;
  elsewhere[0] = elsewhere[0] == '0' ? '1' : '0';
  const auto make = [&](const std::string& name) { std::ofstream(folder.file(name)) << "x"; };
  make(".out." + here + ended + "-0.tmp");
  make(".out." + here + ended + "-17.tmp");
  make(".out." + earlier + std::to_string(::getpid()) + "-0.tmp");  // from before the last boot
  const std::set<std::string> kept = {
      ".out." + here + std::to_string(::getpid()) + "-0.tmp",  // still running
      ".out." + elsewhere + ended + "-0.tmp",                  // of another machine, where it may be running
      ".out." + ended + "-0.tmp",                              // does not say where it runs
      ".out." + host + "0000000g-" + ended + "-0.tmp",
      ".out." + host + "0000000-" + ended + "-0.tmp",
      ".other." + here + ended + "-0.tmp",
      ".out." + here + ended + "-0.tmp~",
      ".out." + here + ended + ".tmp",
      ".out." + here + ended + "-.tmp",
      ".out." + here + "-" + ended + "-0.tmp",
      ".out." + here + "0-0.tmp",
      ".out." + here + "99999999999999999999-0.tmp",
      ".out." + here + "x-0.tmp",
      "out." + here + ended + "-0.tmp",
  };
  for (const std::string& name : kept) make(name);
  fs::create_directory(folder.file(".out." + here + ended + "-1.tmp"));
  fs::create_symlink("nowhere", folder.file(".out." + here + ended + "-2.tmp"));
  remove_abandoned(folder.file("out"), ::getuid());
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder.path())) left.insert(entry.path().filename().string());
  std::set<std::string> wanted = kept;
  wanted.insert({".out." + here + ended + "-1.tmp", ".out." + here + ended + "-2.tmp"});
  EXPECT_EQ(left, wanted);
  remove_abandoned(folder.file("missing/out"), ::getuid());  // a folder that cannot be listed is ignored
}

}  // namespace
}  // namespace modelutils

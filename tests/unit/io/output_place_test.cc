#include "io/output_place.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "base/os/process.h"
#include "support/temp_dir.h"

namespace modelutils {

namespace {

using test::TempDir;

TEST(OutputPlace, IsOneForEverySpelling) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const TempDir folder;
  std::filesystem::create_directory(folder.file("d"));
  test::make_link("d", folder.file("link"));
  const std::string place = std::filesystem::canonical(folder.file("d")).generic_string() + "/new";
  EXPECT_EQ(output_place(folder.file("d/new")), place);
  EXPECT_EQ(output_place(folder.file("d//./new")), place);
  EXPECT_EQ(output_place(folder.file("link/../d/new")), place);
  EXPECT_EQ(output_place(folder.file("link/new")), place);
  EXPECT_EQ(output_place(folder.file("d/missing/../new")), place);
  EXPECT_NE(output_place(folder.file("d/other")), place);
  EXPECT_EQ(output_place("new"), std::filesystem::current_path().string() + "/new");
  EXPECT_EQ(output_place("./new"), output_place("new"));
}

TEST(OutputPlace, OutputsInCachesAreRefused) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const TempDir folder;
  std::filesystem::create_directories(folder.file("models--a--b/blobs"));
  std::filesystem::create_directories(folder.file("models--a--b/snapshots/1"));
  folder.write("models--a--b/blobs/0", "blob");
  test::make_link("models--a--b/blobs/0", folder.file("link"));
  for (const char* name :
       {"models--a--b/blobs/0", "models--a--b/snapshots/1/new", "models--a--b/snapshots/new", "link"}) {
    const Status refused = refuse_output_in_cache(folder.file(name));
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, "out-in-cache") << name;
  }
  EXPECT_TRUE(refuse_output_in_cache(folder.file("models--a--b/notes")));
  EXPECT_TRUE(refuse_output_in_cache(folder.file("new")));
}

// Existing and new names, reached through any links.
TEST(OutputPlace, OutputsInSharedBlobsAreRefused) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const TempDir folder;
  const std::string hash = "ab" + std::string(62, '0');
  folder.write("hub/blobs/ab/" + hash, "blob");
  folder.write("marked/blobs/.huggingface-shared-blobs", "1\n");
  folder.write("mine/blobs/x", "");
  std::filesystem::create_directories(folder.file("hub/models--a--b/blobs"));
  test::make_link("../../blobs/ab/" + hash, folder.file("hub/models--a--b/blobs/0"));
  test::make_link("hub/models--a--b/blobs/0", folder.file("link"));
  for (const std::string& name : {"hub/blobs/ab/" + hash, std::string("hub/blobs/ab/new"), std::string("hub/blobs/new"),
                                  std::string("hub/models--a--b/blobs/0"), std::string("link"),
                                  std::string("marked/blobs/cd/new"), "moved/blobs/ab/" + hash}) {
    const Status refused = refuse_output_in_cache(folder.file(name));
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, "out-in-cache") << name;
  }
  for (const char* name : {"hub/new", "mine/blobs/new", "mine/blobs/ab/abc"}) {
    EXPECT_TRUE(refuse_output_in_cache(folder.file(name))) << name;
  }
}

namespace fs = std::filesystem;

// Returns the id of a process that does not exist.
std::string ended_process() {
  u64 process = 2'000'000;
  while (os::is_running(process)) process += 4;
  return std::to_string(process);
}

// Returns the prefix that temporary_name() puts before the process id: "HOST-BOOT-".
std::string this_machine() {
  const std::string name = temporary_name("out", 0);
  const std::string begins = ".out.";
  return name.substr(begins.size(), name.find(std::to_string(os::process_id()) + "-0.tmp") - begins.size());
}

TEST(TemporaryName, IsHiddenNextToTheOutput) {
  const std::string ending = this_machine() + std::to_string(os::process_id());
  EXPECT_EQ(temporary_name("/some/where/out", 3), "/some/where/.out." + ending + "-3.tmp");
  EXPECT_EQ(temporary_name("/x/" + std::string(255, 'n'), 0), "/x/." + std::string(200, 'n') + "." + ending + "-0.tmp");
  EXPECT_EQ(this_machine().size(), std::string("01234567-01234567-").size());
  EXPECT_EQ(this_machine().find_first_not_of("0123456789abcdef-"), std::string::npos);
}

TEST(TemporaryName, OnlyWhatEndedProcessesOfThisMachineLeftIsRemoved) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
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
  make(".out." + earlier + std::to_string(os::process_id()) + "-0.tmp");  // from before the last boot
  const std::set<std::string> kept = {
      ".out." + here + std::to_string(os::process_id()) + "-0.tmp",  // still running
      ".out." + elsewhere + ended + "-0.tmp",                        // of another machine, where it may be running
      ".out." + ended + "-0.tmp",                                    // does not say where it runs
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
  test::make_link("nowhere", folder.file(".out." + here + ended + "-2.tmp"));
  remove_abandoned(folder.file("out"), os::user_id());
  std::set<std::string> left;
  for (const auto& entry : fs::directory_iterator(folder.path())) left.insert(entry.path().filename().string());
  std::set<std::string> wanted = kept;
  wanted.insert({".out." + here + ended + "-1.tmp", ".out." + here + ended + "-2.tmp"});
  EXPECT_EQ(left, wanted);
  remove_abandoned(folder.file("missing/out"), os::user_id());  // a folder that cannot be listed is ignored
}

TEST(FreeSpace, IsThatOfTheNearestFolder) {
  const TempDir folder;
  for (const std::string name : {"model.gguf", "new/model.gguf", "new/deep/"}) {
    EXPECT_TRUE(check_free_space(folder.file(name), 1)) << name;
    const Status full = check_free_space(folder.file(name), std::numeric_limits<u64>::max());
    ASSERT_FALSE(full) << name;
    EXPECT_EQ(full.error().code, "out-space");
    EXPECT_EQ(full.error().kind, ErrorKind::output);
  }
}

TEST(FreeSpace, PipesAndDevicesHaveRoom) {
  EXPECT_TRUE(check_free_space("-", std::numeric_limits<u64>::max()));
  if (!test::is_posix) return;
  EXPECT_TRUE(check_free_space("/dev/null", std::numeric_limits<u64>::max()));
}

}  // namespace

}  // namespace modelutils

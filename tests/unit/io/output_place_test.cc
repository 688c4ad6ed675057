#include "io/output_place.h"

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "io/atomic_directory.h"
#include "io/atomic_output.h"
#include "support/temp_dir.h"

namespace modelutils {

namespace {

using test::TempDir;

TEST(OutputPlace, IsOneForEverySpelling) {
  const TempDir folder;
  std::filesystem::create_directory(folder.file("d"));
  std::filesystem::create_directory_symlink("d", folder.file("link"));
  const std::string place = std::filesystem::canonical(folder.file("d")).string() + "/new";
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
  const TempDir folder;
  std::filesystem::create_directories(folder.file("models--a--b/blobs"));
  std::filesystem::create_directories(folder.file("models--a--b/snapshots/1"));
  folder.write("models--a--b/blobs/0", "blob");
  std::filesystem::create_symlink("models--a--b/blobs/0", folder.file("link"));
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
  const TempDir folder;
  const std::string hash = "ab" + std::string(62, '0');
  folder.write("hub/blobs/ab/" + hash, "blob");
  folder.write("marked/blobs/.huggingface-shared-blobs", "1\n");
  folder.write("mine/blobs/x", "");
  std::filesystem::create_directories(folder.file("hub/models--a--b/blobs"));
  std::filesystem::create_symlink("../../blobs/ab/" + hash, folder.file("hub/models--a--b/blobs/0"));
  std::filesystem::create_symlink("hub/models--a--b/blobs/0", folder.file("link"));
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

constexpr const char* access_list = "system.posix_acl_access";
constexpr const char* default_list = "system.posix_acl_default";
constexpr uid_t alice = 7001, bob = 7002, mallory = 7003;
constexpr gid_t proj = 8001, staff = 8002;

// An ACL in the format of acl(5): tag, permissions, id. `group` is the group's entry, `mask` the one shown in st_mode.
std::string list_with_bob(u16 group, u16 mask, u16 other) {
  struct Entry {
    u16 tag;
    u16 bits;
    u32 who = ~u32{0};
  };
  const std::array<Entry, 5> entries = {{{0x01, 6}, {0x02, 4, bob}, {0x04, group}, {0x10, mask}, {0x20, other}}};
  std::string list("\2\0\0\0", 4);
  for (const Entry& entry : entries) {
    char bytes[8];
    std::memcpy(bytes, &entry.tag, 2);
    std::memcpy(bytes + 2, &entry.bits, 2);
    std::memcpy(bytes + 4, &entry.who, 4);
    list.append(bytes, sizeof bytes);
  }
  return list;
}

class FileAccess : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::chmod(dir_.path().c_str(), 0777), 0); }
  void TearDown() override { set_output_remarks({}); }

  void set(const std::string& path, const char* name, const std::string& value) {
    ASSERT_EQ(::setxattr(path.c_str(), name, value.data(), value.size(), 0), 0) << name;
  }
  static std::string get(const std::string& path, const char* name) {
    char value[256];
    const ssize_t size = ::getxattr(path.c_str(), name, value, sizeof value);
    return size < 0 ? "none" : std::string(value, static_cast<std::size_t>(size));
  }
  static std::string owners(const std::string& path) {
    struct stat there {};
    EXPECT_EQ(::stat(path.c_str(), &there), 0);
    char text[64];
    std::snprintf(text, sizeof text, "%u:%u %04o", there.st_uid, there.st_gid, there.st_mode & 07777);
    return text;
  }
  std::string old_file(mode_t mode) {
    const std::string path = dir_.write("out", "old");
    EXPECT_EQ(::chmod(path.c_str(), mode), 0);
    return path;
  }
  // Replaces the file and returns its owner, group and mode.
  std::string replaced(const std::string& path) {
    remark_.clear();
    set_output_remarks(
        [this](const std::string&, const char* code, const std::string& text) { remark_ = code + (": " + text); });
    {
      auto output = AtomicOutput::create(path, {.force = true, .inputs = {}});
      EXPECT_TRUE(output && output->append(std::as_bytes(std::span(std::string_view("new")))));
      struct stat there {};
      EXPECT_EQ(::stat(output->staging_path().c_str(), &there), 0);
      EXPECT_EQ(there.st_mode & 0777, 0600u) << "while it is written";
      EXPECT_TRUE(output->commit());
    }
    return owners(path);
  }
  // Runs `act` as a user who is only in `groups`.
  template <typename Do>
  void as(uid_t user, gid_t group, std::vector<gid_t> groups, const Do& act) {
    std::vector<gid_t> before(64);
    before.resize(static_cast<std::size_t>(::getgroups(64, before.data())));
    ASSERT_EQ(::setgroups(groups.size(), groups.data()), 0);
    ASSERT_EQ(::setegid(group), 0);
    ASSERT_EQ(::seteuid(user), 0);
    act();
    ASSERT_EQ(::seteuid(0), 0);
    ASSERT_EQ(::setegid(0), 0);
    ASSERT_EQ(::setgroups(before.size(), before.data()), 0);
  }

  test::TempDir dir_;
  std::string remark_;
};

TEST_F(FileAccess, ModeListAndAttributesAreThoseOfTheReplacedFile) {
  const std::string path = old_file(0600);
  const std::string list = list_with_bob(0, 4, 0);
  set(path, access_list, list);
  set(path, "user.origin", "somewhere");
  const std::string before = owners(path);
  EXPECT_TRUE(before.ends_with(" 0640")) << "the group's bits are the list's mask";
  EXPECT_EQ(replaced(path), before);
  EXPECT_EQ(get(path, access_list), list);
  EXPECT_EQ(get(path, "user.origin"), "somewhere");
  EXPECT_EQ(test::read_file(path), "new");
  EXPECT_EQ(remark_, "");
}

TEST_F(FileAccess, WhatTheFolderHandsDownIsNotAdded) {
  const std::string path = old_file(0660);
  set(dir_.path(), default_list, list_with_bob(7, 7, 7));
  replaced(path);
  EXPECT_EQ(get(path, access_list), "none");
  EXPECT_TRUE(owners(path).ends_with(" 0660"));
}

TEST_F(FileAccess, RootLeavesAFileToItsOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const std::string path = old_file(0640);
  const std::string list = list_with_bob(4, 6, 0);
  set(path, access_list, list);
  ASSERT_EQ(::chown(path.c_str(), alice, proj), 0);
  EXPECT_EQ(replaced(path), "7001:8001 0660");
  EXPECT_EQ(get(path, access_list), list);
  EXPECT_EQ(remark_, "");
}

TEST_F(FileAccess, WithoutTheGroupNobodyGainsAnything) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  struct Case {
    mode_t before;
    const char* after;
  };
  for (const Case& each : {Case{0640, "7003:8002 0600"}, Case{0664, "7003:8002 0644"}, Case{0604, "7003:8002 0600"},
                           Case{0644, "7003:8002 0644"}, Case{0626, "7003:8002 0622"}}) {
    const std::string path = old_file(each.before);
    ASSERT_EQ(::chown(path.c_str(), alice, proj), 0);
    as(mallory, staff, {}, [&] { EXPECT_EQ(replaced(path), each.after); });
    EXPECT_EQ(remark_,
              "out-access: does not keep the group 8001 and the owner 7001 of the file it replaces: Operation not "
              "permitted; nobody gains access by this");
    std::filesystem::remove(path);
  }
}

TEST_F(FileAccess, AMemberKeepsTheGroup) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const std::string path = old_file(0660);
  ASSERT_EQ(::chown(path.c_str(), alice, proj), 0);
  as(alice, staff, {proj}, [&] { EXPECT_EQ(replaced(path), "7001:8001 0660"); });
  EXPECT_EQ(remark_, "");
}

TEST_F(FileAccess, WithoutTheGroupItsListGoesToo) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const std::string path = old_file(0644);
  set(path, access_list, list_with_bob(4, 4, 4));
  ASSERT_EQ(::chown(path.c_str(), alice, proj), 0);
  as(mallory, staff, {}, [&] { EXPECT_EQ(replaced(path), "7003:8002 0600"); });
  EXPECT_EQ(get(path, access_list), "none");
  EXPECT_NE(remark_.find("the access control list"), std::string::npos);
}

TEST_F(FileAccess, ADirectoryAndItsFilesAreLikeThoseThatTheyReplace) {
  const std::string path = dir_.file("model");
  std::filesystem::create_directory(path);
  const auto old_one = [&](const std::string& name, mode_t mode) {
    dir_.write("model/" + name, "old");
    ASSERT_EQ(::chmod((path + "/" + name).c_str(), mode), 0);
  };
  old_one("config.json", 0644);
  old_one("model.safetensors", 0600);
  ASSERT_EQ(::chmod(path.c_str(), 0750), 0);
  set(path, default_list, list_with_bob(0, 4, 0));
  const std::string before = owners(path);
  DirectoryOptions options;
  options.force = true;
  options.is_ours = [](std::string_view) { return true; };
  auto directory = AtomicDirectory::create(path, options);
  ASSERT_TRUE(directory);
  EXPECT_TRUE(owners(directory->staging_path()).ends_with(" 0700"));
  std::vector<AtomicOutput> files;
  for (const char* name : {"config.json", "model-00001-of-00002.safetensors"}) {
    files.push_back(std::move(directory->create_file(name).value()));
  }
  ASSERT_TRUE(directory->close_files(files) && directory->commit());
  EXPECT_EQ(owners(path), before);
  EXPECT_EQ(get(path, default_list), list_with_bob(0, 4, 0));
  EXPECT_TRUE(owners(path + "/config.json").ends_with(" 0644"));
  EXPECT_TRUE(owners(path + "/model-00001-of-00002.safetensors").ends_with(" 0600")) << "as the strictest";
}

TEST_F(FileAccess, APausedOutputGoesOnAndOneThatIsFinishedIsClosed) {
  auto other = AtomicOutput::create(dir_.file("other"), {.inputs = {}}).value();
  for (const char* part : {"ab", "cd"}) {
    other.pause();
    ASSERT_TRUE(other.resume());
    ASSERT_TRUE(other.append(std::as_bytes(std::span(std::string_view(part)))));
  }
  ASSERT_TRUE(other.finish());
  EXPECT_LT(other.descriptor(), 0);
  ASSERT_TRUE(other.commit());
  EXPECT_EQ(test::read_file(dir_.file("other")), "abcd");
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
  EXPECT_TRUE(check_free_space("/dev/null", std::numeric_limits<u64>::max()));
}

}  // namespace

}  // namespace modelutils

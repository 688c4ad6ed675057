// Access rights of replaced files and folders: modes, owners, lists, attributes.
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "io/atomic_directory.h"
#include "io/atomic_output.h"
#include "io/output_place.h"
#include "support/temp_dir.h"

namespace modelutils {

namespace {

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

}  // namespace

}  // namespace modelutils

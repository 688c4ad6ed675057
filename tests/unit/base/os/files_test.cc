#include "base/os/files.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "base/os/process.h"
#include "support/temp_dir.h"

namespace modelutils::os {

namespace {

// Every system keeps what lib/base/os/files.h says about names.
TEST(Files, NamesAreTakenOnce) {
  const test::TempDir folder;
  const std::string one = folder.write("one", "1"), two = folder.write("two", "22");
  const int taken = create(one, 0600);
  EXPECT_EQ(taken, -1);
  EXPECT_EQ(errno, EEXIST);
  EXPECT_FALSE(rename_new(one, two));
  EXPECT_TRUE(errno == EEXIST || rename_is_unsupported());
  EXPECT_FALSE(link(one, two));
  EXPECT_EQ(errno, EEXIST);
  EXPECT_TRUE(link(one, folder.file("three")));
  EXPECT_EQ(status(one)->links, 2U);
  EXPECT_TRUE(status(one)->is_same_file(*status(folder.file("three"))));
  EXPECT_FALSE(status(one)->is_same_file(*status(two)));
  EXPECT_TRUE(rename(one, two));
  EXPECT_EQ(test::read_file(two), "1");
  EXPECT_FALSE(link_status(one));
  EXPECT_EQ(errno, ENOENT);
}

// Windows can rename over an open file on NTFS only. Where it cannot, both files stay as they are.
TEST(Files, RenamingReplacesAnOpenFileOrNothing) {
  const test::TempDir folder;
  const std::string one = folder.write("one", "1"), two = folder.write("two", "22");
  EXPECT_FALSE(rename(folder.file("none"), two));
  EXPECT_EQ(errno, ENOENT);
  const int file = open(two, reading);
  ASSERT_GE(file, 0);
  const bool is_renamed = rename(one, two);
  EXPECT_TRUE(is_renamed || !test::is_posix);
  EXPECT_EQ(link_status(one).has_value(), !is_renamed);
  EXPECT_EQ(test::read_file(two), is_renamed ? "1" : "22");
  char bytes[4];
  EXPECT_EQ(read(file, bytes, sizeof bytes), 2) << "the open file is still the old one";
  close(file);
  EXPECT_TRUE(is_renamed || rename(one, two));
  EXPECT_EQ(test::read_file(two), "1");
}

TEST(Files, AreReadAndWrittenByOffset) {
  const test::TempDir folder;
  const std::string path = folder.file("模型 ü");
  const int file = create(path, 0600);
  ASSERT_GE(file, 0);
  EXPECT_EQ(write_at(file, "abc", 3, 5), 3);
  EXPECT_TRUE(set_size(file, 10));
  EXPECT_TRUE(sync(file));
  EXPECT_TRUE(sync_folder(folder.path()));
  char bytes[16];
  EXPECT_EQ(read_at(file, bytes, sizeof bytes, 4), 6);
  EXPECT_EQ(std::string(bytes, 6), std::string("\0abc\0\0", 6));
  EXPECT_EQ(read_at(file, bytes, sizeof bytes, 10), 0);
  const std::byte* mapped = map(file, 10);
  ASSERT_NE(mapped, nullptr);
  EXPECT_EQ(mapped[6], std::byte{'b'});
  unmap(mapped, 10);
  close(file);
  EXPECT_EQ(status(path)->size, 10U);
  EXPECT_FALSE(status(file));
  EXPECT_EQ(errno, EBADF);
}

TEST(Files, FoldersAreListed) {
  const test::TempDir folder;
  folder.write("b", "");
  EXPECT_TRUE(make_folder(folder.file("a"), 0700));
  EXPECT_FALSE(make_folder(folder.file("a"), 0700));
  EXPECT_EQ(errno, EEXIST);
  std::string found;
  EXPECT_TRUE(list(folder.path(), [&](std::string_view name, EntryKind kind) {
    found.append(name) += kind == EntryKind::directory ? '/' : ' ';
    return true;
  }));
  EXPECT_TRUE(found == "a/b " || found == "b a/") << found;
  EXPECT_FALSE(list(folder.file("b"), [](auto, auto) { return true; }));
  EXPECT_EQ(errno, ENOTDIR);
  EXPECT_FALSE(list(folder.file("c"), [](auto, auto) { return true; }));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(remove_folder(folder.path()));
  EXPECT_EQ(errno, ENOTEMPTY);
  EXPECT_TRUE(remove_folder(folder.file("a")));
}

TEST(Files, APathLeadsWhereItSays) {
  const test::TempDir folder;
  folder.write("a/b", "x");
  const std::string home = *resolve(folder.path());
  EXPECT_EQ(resolve(folder.file("a/../a/./b")), home + "/a/b");
  EXPECT_FALSE(resolve(folder.file("c")));
  EXPECT_FALSE(read_link(folder.file("a/b")));
  EXPECT_EQ(errno, EINVAL);
  bool last = false;
  const int file = open_without_links(home, "a/b", last);
  ASSERT_GE(file, 0);
  EXPECT_TRUE(last);
  char byte = 0;
  EXPECT_EQ(read(file, &byte, 1), 1);
  EXPECT_EQ(byte, 'x');
  EXPECT_EQ(position(file), u64{1});
  close(file);
  EXPECT_TRUE(is_absolute(home));
  EXPECT_FALSE(is_absolute("a/b"));
}

// What Windows takes for a drive, a share, a device, a stream, or another name.
TEST(Files, NamesThatLeadElsewhere) {
  const test::TempDir folder;
  folder.write("a/b", "x");
  const std::string absolute = from_native(*resolve(folder.file("a/b")));
  for (const std::string& name :
       {std::string("C:/b"), std::string("C:b"), std::string("a/b:s"), std::string("NUL"), std::string("a/com1.b"),
        std::string("a\\b"), std::string("..\\b"), std::string("\\\\server\\b"), std::string("a/b."),
        std::string("a/b "), std::string("a/.../b"), absolute}) {
    EXPECT_EQ(leads_elsewhere(name), !test::is_posix) << name;
    if (test::is_posix) continue;
    for (const std::string& from : {folder.path(), std::string("/"), std::string(".")}) {
      bool last = false;
      EXPECT_EQ(open_without_links(from, name, last), -1) << name;
      EXPECT_EQ(errno, EINVAL) << name;
    }
  }
  for (const char* name : {"a", "a/b", ".a/b.c", "a/nul_", "com10"}) EXPECT_FALSE(leads_elsewhere(name)) << name;
}

TEST(Process, KnowsItself) {
  EXPECT_TRUE(is_running(process_id()));
  EXPECT_FALSE(environment("MODELUTILS_IS_NOT_SET"));
  set_default("MODELUTILS_IS_SET", "1");
  set_default("MODELUTILS_IS_SET", "2");
  EXPECT_EQ(environment("MODELUTILS_IS_SET"), "1");
  EXPECT_TRUE(status(own_program())->is_file());
  u64 one = 0, two = 0;
  EXPECT_TRUE(random_bytes(&one, sizeof one) && random_bytes(&two, sizeof two));
  EXPECT_NE(one, two);
  std::tm parts{};
  EXPECT_TRUE(utc_time(86400, parts));
  EXPECT_EQ(parts.tm_mday, 2);
}

}  // namespace

}  // namespace modelutils::os

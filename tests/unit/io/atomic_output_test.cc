#include "io/atomic_output.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/os/files.h"
#include "io/copy_range.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::read_file;
using test::TempDir;

Bytes bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::size_t files_in(const TempDir& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder.path()), std::filesystem::directory_iterator()));
}

AtomicOutput create(const std::string& path, bool force = false) {
  return AtomicOutput::create(path, {.force = force, .inputs = {}, .binary = true}).value();
}

TEST(AtomicOutput, AppearsWholeOrNotAtAll) {
  const TempDir folder;
  const std::string path = folder.file("out");
  {
    AtomicOutput output = create(path);
    EXPECT_TRUE(output.append(bytes_of("hello ")).has_value());
    EXPECT_TRUE(output.append(bytes_of("world")).has_value());
    EXPECT_EQ(output.appended(), 11u);
    EXPECT_TRUE(output.is_seekable());
    EXPECT_FALSE(std::filesystem::exists(path));
    EXPECT_EQ(read_file(output.staging_path()), "hello world");
    EXPECT_TRUE(output.commit().has_value());
    EXPECT_EQ(output.staging_path(), path);
  }
  EXPECT_EQ(read_file(path), "hello world");
  EXPECT_EQ(files_in(folder), 1u);
  {
    AtomicOutput abandoned = create(folder.file("other"));
    EXPECT_TRUE(abandoned.append(bytes_of("never seen")).has_value());
  }
  EXPECT_EQ(files_in(folder), 1u) << "the temporary file is gone";
}

TEST(AtomicOutput, WritesAnywhere) {
  const TempDir folder;
  AtomicOutput output = create(folder.file("out"));
  EXPECT_TRUE(output.set_size(10).has_value());
  EXPECT_TRUE(output.write_at(8, bytes_of("89")).has_value());
  EXPECT_TRUE(output.write_at(0, bytes_of("01")).has_value());
  output.seek_append(4);
  EXPECT_TRUE(output.append(bytes_of("4")).has_value());
  output.start_write_back(0, 10);
  AtomicOutput moved = std::move(output);
  EXPECT_TRUE(moved.commit().has_value());
  EXPECT_EQ(read_file(folder.file("out")), std::string("01\0\0"
                                                       "4\0\0\0"
                                                       "89",
                                                       10));
}

TEST(WriteBack, LosesNothingOfWhatItLetsGo) {
  constexpr u64 piece_bytes = u64{3} << 20;
  constexpr u64 pieces = 20;  // beyond the window, in steps that are not multiples of the page size
  const TempDir folder;
  AtomicOutput output = create(folder.file("out"));
  WriteBack write_back(output);
  const auto piece = [](u64 i) { return std::string(piece_bytes - i, static_cast<char>('a' + i)); };
  for (u64 i = 0; i < pieces; ++i) {
    ASSERT_TRUE(output.append(bytes_of(piece(i))).has_value());
    ASSERT_TRUE(write_back.reached(output.appended()).has_value());
    ASSERT_TRUE(write_back.reached(output.appended() / 2).has_value()) << "an earlier position is no step";
  }
  ASSERT_TRUE(output.commit().has_value());
  std::ifstream written(folder.file("out"), std::ios::binary);
  for (u64 i = 0; i < pieces; ++i) {
    std::string found(piece_bytes - i, '\0');
    ASSERT_TRUE(written.read(found.data(), static_cast<std::streamsize>(found.size())));
    EXPECT_TRUE(found == piece(i)) << i;
  }
  EXPECT_EQ(written.peek(), std::ifstream::traits_type::eof());
}

TEST(AtomicOutput, DoesNotReplaceWithoutForce) {
  const TempDir folder;
  const std::string path = folder.write("out", "old");
  const auto refused = AtomicOutput::create(path, {});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code, "out-exists");
  EXPECT_EQ(refused.error().kind, ErrorKind::output);
  ASSERT_TRUE(os::set_mode(path, 0640));
  AtomicOutput output = create(path, true);
  EXPECT_TRUE(output.append(bytes_of("new")).has_value());
  EXPECT_EQ(read_file(path), "old") << "until it is committed";
  EXPECT_TRUE(output.commit().has_value());
  EXPECT_EQ(read_file(path), "new");
  if (test::is_posix) {
    EXPECT_EQ(os::status(path)->mode, 0640u) << "the permissions stay";
  }
}

TEST(AtomicOutput, AFileThatAppearsMeanwhileIsNotReplaced) {
  const TempDir folder;
  AtomicOutput output = create(folder.file("out"));
  folder.write("out", "somebody else's");
  const Status status = output.commit();
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, "out-exists");
  EXPECT_EQ(read_file(folder.file("out")), "somebody else's");
}

TEST(AtomicOutput, ASymbolicLinkStaysOne) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const TempDir folder;
  folder.write("real", "old");
  test::make_link("real", folder.file("link"));
  AtomicOutput output = create(folder.file("link"), true);
  EXPECT_TRUE(output.append(bytes_of("new")).has_value());
  EXPECT_TRUE(output.commit().has_value());
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(read_file(folder.file("real")), "new");
}

TEST(AtomicOutput, ALinkToNothingIsRefused) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const TempDir folder;
  test::make_link("nothing", folder.file("link"));
  for (const bool force : {false, true}) {
    const OutputOptions options{.force = force, .inputs = {}, .binary = true};
    const auto refused = AtomicOutput::create(folder.file("link"), options);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().code, "out-link");
    EXPECT_EQ(refused.error().kind, ErrorKind::output);
    EXPECT_EQ(AtomicOutput::check(folder.file("link"), options).error().code, "out-link");
  }
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicOutput, NamesWhatCannotBeWritten) {
  const TempDir folder;
  const std::string input = folder.write("in", "x");
  const auto code = [](const std::string& path, const OutputOptions& options) {
    const auto output = AtomicOutput::create(path, options);
    return output ? "created" : output.error().code;
  };
  EXPECT_EQ(code(folder.path(), {}), "out-directory");
  EXPECT_EQ(code(folder.file("no/such/folder"), {}), "out-open");
  EXPECT_EQ(code(input + "/below", {}), "out-open");
  EXPECT_EQ(code(input, {.force = true, .inputs = {input}, .binary = true}), "out-is-input");
  std::filesystem::create_hard_link(input, folder.file("same"));
  EXPECT_EQ(code(folder.file("same"), {.force = true, .inputs = {input}, .binary = true}), "out-is-input");
  EXPECT_EQ(code(folder.file(std::string(250, 'n')), {}), "created") << "a long name leaves room for the temporary one";
  EXPECT_EQ(files_in(folder), 2u);
}

TEST(AtomicOutput, ADeviceIsWrittenInPlace) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no /dev";
  AtomicOutput null = create("/dev/null");
  EXPECT_FALSE(null.is_seekable());
  EXPECT_TRUE(null.append(bytes_of("x")).has_value());
  EXPECT_TRUE(null.commit().has_value());
  AtomicOutput full = create("/dev/full");
  const Status status = full.append(bytes_of("x"));
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, "out-write");
  EXPECT_NE(status.error().message.find("No space left"), std::string::npos);
  EXPECT_FALSE(full.set_size(5).has_value());
}

TEST(AtomicOutput, SeveralFilesAppearTogether) {
  const TempDir folder;
  std::vector<AtomicOutput> outputs;
  for (const char* name : {"a", "b", "c"}) {
    outputs.push_back(create(folder.file(name)));
    EXPECT_TRUE(outputs.back().append(bytes_of(name)).has_value());
  }
  EXPECT_TRUE(AtomicOutput::commit_all(outputs).has_value());
  EXPECT_EQ(read_file(folder.file("a")), "a");
  EXPECT_EQ(read_file(folder.file("c")), "c");
}

TEST(AtomicOutput, IfOneFailsTheOthersAreTakenBack) {
  const TempDir folder;
  std::vector<AtomicOutput> outputs;
  for (const char* name : {"a", "b"}) outputs.push_back(create(folder.file(name)));
  folder.write("b", "in the way");
  EXPECT_FALSE(AtomicOutput::commit_all(outputs).has_value());
  outputs.clear();
  EXPECT_FALSE(std::filesystem::exists(folder.file("a")));
  EXPECT_EQ(read_file(folder.file("b")), "in the way");
  EXPECT_EQ(files_in(folder), 1u);
}

TEST(AtomicOutput, IfOneFailsWhatTheOthersReplacedIsBack) {
  if (!test::can_link()) GTEST_SKIP() << test::no_links;
  const TempDir folder;
  for (const char* name : {"a", "b", "d"}) folder.write(name, std::string("old ") + name);
  test::make_link("b", folder.file("link"));
  std::vector<AtomicOutput> outputs;
  for (const char* name : {"a", "link", "c", "d"}) {
    outputs.push_back(create(folder.file(name), true));
    ASSERT_TRUE(outputs.back().append(bytes_of("new")).has_value());
  }
  std::filesystem::remove(folder.file("d"));
  std::filesystem::create_directory(folder.file("d"));
  const Status status = AtomicOutput::commit_all(outputs);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, "out-directory");
  outputs.clear();
  EXPECT_EQ(read_file(folder.file("a")), "old a");
  EXPECT_EQ(read_file(folder.file("b")), "old b");
  EXPECT_TRUE(std::filesystem::is_symlink(folder.file("link")));
  EXPECT_TRUE(std::filesystem::is_directory(folder.file("d")));
  EXPECT_EQ(files_in(folder), 4u) << "neither c nor a temporary file is left";
}

TEST(AtomicOutput, WithForceWhatHasGoneOrComeDoesNotMatter) {
  const TempDir folder;
  folder.write("gone", "old");
  std::vector<AtomicOutput> outputs;
  for (const char* name : {"gone", "come"}) {
    outputs.push_back(create(folder.file(name), true));
    ASSERT_TRUE(outputs.back().append(bytes_of("new")).has_value());
  }
  std::filesystem::remove(folder.file("gone"));
  folder.write("come", "somebody else's");
  ASSERT_TRUE(AtomicOutput::commit_all(outputs).has_value());
  outputs.clear();
  EXPECT_EQ(read_file(folder.file("gone")), "new");
  EXPECT_EQ(read_file(folder.file("come")), "new");
  EXPECT_EQ(files_in(folder), 2u);
}

TEST(CopyRange, CopiesAPiece) {
  const TempDir folder;
  std::string content(700000, '\0');
  for (std::size_t i = 0; i < content.size(); ++i) content[i] = static_cast<char>(i * 31 >> 3);
  const auto source = RandomAccessFile::open(folder.write("in", content)).value();
  AtomicOutput output = create(folder.file("out"));
  EXPECT_TRUE(output.append(bytes_of("head")).has_value());
  EXPECT_TRUE(copy_range(*source, 1000, 600000, output).has_value());
  EXPECT_TRUE(copy_range(*source, 5, 0, output).has_value());
  EXPECT_TRUE(output.append(bytes_of("tail")).has_value());
  EXPECT_EQ(output.appended(), 600008u);
  EXPECT_TRUE(output.commit().has_value());
  EXPECT_TRUE(read_file(folder.file("out")) == "head" + content.substr(1000, 600000) + "tail");
}

TEST(CopyRange, IntoAPipe) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no FIFOs";
  const TempDir folder;
  const auto source = RandomAccessFile::open(folder.write("in", "0123456789")).value();
  test::make_fifo(folder.file("fifo"));
  const int reader = os::open(folder.file("fifo"), os::reading | os::no_wait);
  AtomicOutput fifo = create(folder.file("fifo"));
  EXPECT_FALSE(fifo.is_seekable());
  EXPECT_TRUE(copy_range(*source, 2, 5, fifo).has_value());
  char got[10];
  EXPECT_EQ(os::read(reader, got, sizeof got), 5);
  EXPECT_EQ(std::string_view(got, 5), "23456");
  os::close(reader);
}

TEST(CopyRange, NotBeyondTheEnd) {
  const TempDir folder;
  const auto source = RandomAccessFile::open(folder.write("in", "0123456789")).value();
  AtomicOutput output = create(folder.file("out"));
  const Status status = copy_range(*source, 5, 6, output);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, "io-short");
}

}  // namespace
}  // namespace modelutils

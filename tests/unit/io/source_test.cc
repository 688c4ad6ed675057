// Byte sources: files, memory, pipes, mappings.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <thread>

#include "base/os/files.h"
#include "io/copy_range.h"
#include "io/random_access_file.h"
#include "support/temp_dir.h"

namespace modelutils {
namespace {

using test::TempDir;

std::string read_all(const ByteSource& source, u64 offset = 0) {
  std::string out;
  char piece[100];
  while (true) {
    const auto got = source.read_some(offset + out.size(), std::as_writable_bytes(std::span(piece)));
    if (!got) return got.error().code;
    if (*got == 0) return out;
    out.append(piece, *got);
  }
}

TEST(RandomAccessFile, ReadsByPosition) {
  const TempDir folder;
  const std::string path = folder.write("f", std::string(1000, 'a') + "end");
  const auto file = RandomAccessFile::open(path).value();
  EXPECT_EQ(file->size(), 1003u);
  EXPECT_EQ(file->file_size(), 1003u);
  EXPECT_EQ(file->name(), path);
  EXPECT_EQ(read_all(*file), std::string(1000, 'a') + "end");
  EXPECT_EQ(read_all(*file, 1000), "end");
  EXPECT_EQ(read_all(*file, 1003), "");
  EXPECT_EQ(read_all(*file, ~u64{0}), "");
  if (!test::can_link()) return;
  test::make_link(path, folder.file("link"));
  EXPECT_EQ(read_all(*RandomAccessFile::open(folder.file("link")).value(), 1000), "end");
}

TEST(RandomAccessFile, NamesWhatCannotBeOpened) {
  const TempDir folder;
  const auto absent = RandomAccessFile::open(folder.file("absent"));
  ASSERT_FALSE(absent.has_value());
  EXPECT_EQ(absent.error().code, "io-open");
  EXPECT_NE(absent.error().message.find("No such file"), std::string::npos);
  EXPECT_EQ(absent.error().file, folder.file("absent"));
  EXPECT_EQ(RandomAccessFile::open(folder.path()).error().code, "io-directory");
  if (!test::is_posix) return;
  EXPECT_EQ(RandomAccessFile::open("/dev/null").error().code, "io-not-regular");
  test::make_fifo(folder.file("fifo"));
  EXPECT_EQ(RandomAccessFile::open(folder.file("fifo")).error().code, "io-not-regular") << "and does not wait";
  ASSERT_TRUE(os::set_mode(folder.path(), 0755));
  ASSERT_TRUE(os::set_mode(folder.write("secret", "x"), 0));
  const test::AsNobody user;  // root can read every file
  EXPECT_EQ(RandomAccessFile::open(folder.file("secret")).error().code, "io-open");
}

TEST(RandomAccessFile, AFileThatShrinksIsAnError) {
  const TempDir folder;
  const std::string path = folder.write("f", std::string(10000, 'x'));
  const auto file = RandomAccessFile::open(path).value();
  std::filesystem::resize_file(path, 50);
  std::array<std::byte, 100> bytes{};
  EXPECT_EQ(file->read_exact(5000, bytes).error().code, "io-shrunk");
  EXPECT_EQ(file->read_exact(0, bytes).error().code, "io-shrunk");
}

TEST(MemoryFile, ReadsItsBytes) {
  const std::string text = "0123456789";
  const auto span = std::as_bytes(std::span(text));
  const MemoryFile file({span.begin(), span.end()}, "name");
  EXPECT_EQ(read_all(file), text);
  EXPECT_EQ(read_all(file, 9), "9");
  EXPECT_EQ(read_all(file, 10), "");
  EXPECT_EQ(file.size(), 10u);
  EXPECT_EQ(file.name(), "name");
  EXPECT_EQ(file.bytes().size(), 10u);
}

TEST(StreamSource, KeepsWhatItReads) {
  const test::Pipe pipe;
  std::string sent(300000, '\0');
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7);
  std::thread writer([&] {
    for (std::size_t done = 0; done < sent.size();) {
      const i64 n = os::write(pipe.write_end, sent.data() + done, std::min<std::size_t>(7777, sent.size() - done));
      if (n <= 0) break;
      done += static_cast<std::size_t>(n);
    }
    os::close(pipe.write_end);
  });
  const StreamSource source("pipe", pipe.read_end);
  EXPECT_EQ(source.size(), std::nullopt);
  EXPECT_EQ(read_all(source, 299990), sent.substr(299990)) << "forward";
  EXPECT_EQ(source.size(), 300000u) << "the end was seen";
  EXPECT_EQ(read_all(source), sent) << "and again from the beginning";
  EXPECT_EQ(source.name(), "pipe");
  writer.join();
}

TEST(StreamSource, HasALimit) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no /dev/zero";
  const int zero = os::open("/dev/zero", os::reading);
  ASSERT_GE(zero, 0);
  const StreamSource source("zero", zero, 1 << 20);
  std::array<std::byte, 10> bytes{};
  EXPECT_TRUE(source.read_exact(0, bytes).has_value());
  const auto far = source.read_some(u64{1} << 40, bytes);
  ASSERT_FALSE(far.has_value());
  EXPECT_EQ(far.error().code, "io-limit");
}

// Reads gigabytes from a source that keeps nothing; bytes kept before are still available.
TEST(StreamSource, GoesForward) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no /dev/zero";
  const int zero = os::open("/dev/zero", os::reading);
  ASSERT_GE(zero, 0);
  StreamSource source("zero", zero, 1 << 20);
  std::array<std::byte, 10> bytes{};
  ASSERT_TRUE(source.read_exact(100, bytes).has_value());
  source.go_forward();
  ASSERT_TRUE(source.read_exact(50, bytes).has_value());
  ASSERT_TRUE(source.read_exact(u64{3} << 20, bytes).has_value()) << "beyond the limit";
  ASSERT_TRUE(source.read_exact((u64{3} << 20) + 10, bytes).has_value());
  EXPECT_EQ(source.read_some(u64{3} << 20, bytes).error().code, "io-pipe");
}

// The first bytes, which have been read, stay available.
TEST(StreamSource, KeepsItsHead) {
  const test::Pipe pipe;
  ASSERT_EQ(os::write(pipe.write_end, "0123456789", 10), 10);
  os::close(pipe.write_end);
  StreamSource source("pipe", pipe.read_end);
  std::array<char, 3> text{};
  const MutableBytes bytes = std::as_writable_bytes(std::span(text));
  ASSERT_TRUE(source.read_exact(2, bytes).has_value());
  source.go_forward(4);
  ASSERT_TRUE(source.read_exact(7, bytes).has_value());
  EXPECT_EQ(std::string(text.begin(), text.end()), "789");
  ASSERT_TRUE(source.read_exact(1, bytes).has_value());
  EXPECT_EQ(std::string(text.begin(), text.end()), "123");
  EXPECT_EQ(source.read_some(4, bytes).error().code, "io-pipe");
}

TEST(StreamSource, GoesForwardToTheEnd) {
  const test::Pipe pipe;
  ASSERT_EQ(os::write(pipe.write_end, "0123456789", 10), 10);
  os::close(pipe.write_end);
  StreamSource source("pipe", pipe.read_end);
  source.go_forward();
  EXPECT_EQ(read_all(source, 3), "3456789");
  EXPECT_EQ(source.size(), 10u);
}

TEST(StreamSource, PassesErrorsOn) {
  const TempDir folder;  // which cannot be read
  const StreamSource source("folder", os::open(folder.path(), os::reading));
  std::array<std::byte, 10> bytes{};
  EXPECT_EQ(source.read_some(0, bytes).error().code, "io-read");
}

TEST(OpenSource, PicksTheSource) {
  const TempDir folder;
  const std::string path = folder.write("f", "content");
  const auto file = open_source(path).value();
  EXPECT_NE(file->as_file(), nullptr);
  EXPECT_EQ(read_all(*file), "content");
  EXPECT_EQ(open_source(folder.path()).error().code, "io-directory");
  EXPECT_EQ(open_source(folder.file("absent")).error().code, "io-open");
  if (!test::is_posix) return;
  const auto device = open_source("/dev/null").value();
  EXPECT_TRUE(device->is_pipe());
  EXPECT_EQ(read_all(*device), "");
  test::make_fifo(folder.file("fifo"));
  std::thread writer([&] {
    const int fifo = os::open(folder.file("fifo"), os::writing);
    if (os::write(fifo, "through", 7) != 7) std::abort();
    os::close(fifo);
  });
  EXPECT_EQ(read_all(*open_source(folder.file("fifo")).value()), "through");
  writer.join();
}

TEST(MappedFile, ShowsTheWholeFile) {
  const TempDir folder;
  const auto file = MappedFile::open(folder.write("f", "content")).value();
  ASSERT_EQ(file->bytes().size(), 7u);
  EXPECT_EQ(std::memcmp(file->bytes().data(), "content", 7), 0);
  EXPECT_EQ(MappedFile::open(folder.write("empty", "")).value()->bytes().size(), 0u);
  EXPECT_EQ(MappedFile::open(folder.path()).error().code, "io-directory");
  EXPECT_EQ(MappedFile::open(folder.file("absent")).error().code, "io-open");
}

TEST(SameBytes, ComparesPiecesAcrossChunks) {
  std::vector<std::byte> left(600 * 1024), right(600 * 1024 + 3);
  right[3 + 599 * 1024] = std::byte{1};
  const MemoryFile a(left), b(right);
  EXPECT_TRUE(same_bytes(a, 0, b, 3, 599 * 1024).value());
  EXPECT_FALSE(same_bytes(a, 0, b, 3, 599 * 1024 + 1).value());
  EXPECT_TRUE(same_bytes(a, 5, b, 1, 0).value());
  const auto beyond = same_bytes(a, 1, b, 0, 600 * 1024);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().code, "io-short");
}

}  // namespace
}  // namespace modelutils

#include "convert/transfer/stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <thread>

#include "base/os/files.h"
#include "support/temp_dir.h"
#include "tensor/value_sums.h"

namespace modelutils {
namespace {

using test::read_file;
using test::TempDir;

constexpr std::string_view header = "header";

// Tensors of 7, 0, 5 and 9 rows of two bytes, in chunks of two rows, with a gap of 3 bytes before the last one.
std::vector<StreamTensor> some_tensors() {
  std::vector<StreamTensor> tensors;
  u64 end = header.size();
  for (const u64 rows : {7, 0, 5, 9}) {
    StreamTensor tensor;
    tensor.rows = rows;
    tensor.chunk_rows = 2;
    if (rows == 9) end += 3;
    tensor.parts[0] = {end, 2};
    tensors.push_back(tensor);
    end += 2 * rows;
  }
  return tensors;
}

constexpr u64 file_size = 6 + 14 + 10 + 3 + 18 + 4;  // with 4 bytes after the last tensor

// Row r of tensor t is "<letter for t><letter for r>".
Status encode(std::size_t tensor, u64 first, u64 count, const EncodedParts& out, unsigned, ValueSums*) {
  for (u64 i = 0; i < count; ++i) {
    out[0][2 * i] = static_cast<std::byte>('A' + tensor);
    out[0][2 * i + 1] = static_cast<std::byte>('a' + first + i);
  }
  return {};
}

const std::string rows_of_a = "AaAbAcAdAeAfAg", rows_of_c = "CaCbCcCdCe", rows_of_d = "DaDbDcDdDeDfDgDhDi";
const std::string whole_file =
    std::string(header) + rows_of_a + rows_of_c + std::string(3, '\0') + rows_of_d + std::string(4, '\0');

std::string text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(Stream, WatchersSeeEveryChunkInOrder) {
  for (const unsigned threads : {1u, 2u, 7u}) {
    const TempDir folder;
    AtomicOutput output = AtomicOutput::create(folder.file("out"), {}).value();
    const StreamFile file{&output, header, file_size};
    std::string seen, tensors;
    const std::vector<WatchRows> watchers = {
        [&](std::size_t, Bytes rows) { seen += text_of(rows); },
        [&](std::size_t tensor, Bytes rows) { tensors += std::string(rows.size(), static_cast<char>('0' + tensor)); }};
    Progress progress;
    ASSERT_TRUE(stream_tensors({&file, 1}, some_tensors(), threads, encode, progress, watchers).has_value());
    EXPECT_EQ(seen, rows_of_a + rows_of_c + rows_of_d);
    EXPECT_EQ(tensors, std::string(14, '0') + std::string(10, '2') + std::string(18, '3'));
    EXPECT_EQ(progress.done(), header.size() + 42);
    ASSERT_TRUE(output.commit().has_value());
    EXPECT_EQ(read_file(folder.file("out")), whole_file);
  }
}

TEST(Stream, AFifoGetsTheSameBytes) {
  if (!test::is_posix) GTEST_SKIP() << "Windows has no FIFOs";
  for (const unsigned threads : {1u, 3u}) {
    const TempDir folder;
    test::make_fifo(folder.file("fifo"));
    std::string read;
    std::thread reader([&] { read = read_file(folder.file("fifo")); });
    {
      AtomicOutput output = AtomicOutput::create(folder.file("fifo"), {}).value();
      ASSERT_FALSE(output.is_seekable());
      const StreamFile file{&output, header, file_size};
      Progress progress;
      EXPECT_TRUE(stream_tensors({&file, 1}, some_tensors(), threads, encode, progress).has_value());
    }
    reader.join();
    EXPECT_EQ(read, whole_file);
  }
}

TEST(Stream, WithoutAnOutputOnlyWatchersGetIt) {
  const StreamFile file{nullptr, header, file_size};
  std::string seen;
  const std::vector<WatchRows> watchers = {[&](std::size_t, Bytes rows) { seen += text_of(rows); }};
  Progress progress;
  ASSERT_TRUE(stream_tensors({&file, 1}, some_tensors(), 2, encode, progress, watchers).has_value());
  EXPECT_EQ(seen, rows_of_a + rows_of_c + rows_of_d);
}

TEST(Stream, ZerosAreAHole) {
  const TempDir folder;
  AtomicOutput output = AtomicOutput::create(folder.file("out"), {}).value();
  StreamTensor tensor;
  tensor.rows = u64{1} << 22;
  tensor.parts[0] = {header.size(), 1};
  tensor.is_zero = true;
  const StreamFile file{&output, header, header.size() + tensor.rows};
  const EncodeRows zeros = [](std::size_t, u64, u64, const EncodedParts& out, unsigned, ValueSums*) -> Status {
    std::ranges::fill(out[0], std::byte{0});
    return {};
  };
  u64 seen = 0;
  const std::vector<WatchRows> watchers = {[&](std::size_t, Bytes rows) { seen += rows.size(); }};
  Progress progress;
  ASSERT_TRUE(stream_tensors({&file, 1}, {&tensor, 1}, 2, zeros, progress, watchers).has_value());
  const auto status = os::status(output.descriptor());
  ASSERT_TRUE(status);
  EXPECT_EQ(status->size, file.size);
  if (test::is_posix) {  // Windows does not say how much a file takes
    EXPECT_LT(status->disk_bytes, u64{1} << 20);
  }
  EXPECT_EQ(seen, tensor.rows);
}

// Threads that wait for their turn must be released if an earlier chunk fails.
TEST(Stream, AnErrorOfOneThreadEndsAll) {
  for (const u64 bad : {u64{0}, u64{2}, u64{8}}) {
    const StreamFile file{nullptr, header, file_size};
    const EncodeRows failing = [&](std::size_t tensor, u64 first, u64 count, const EncodedParts& out, unsigned thread,
                                   ValueSums* error) -> Status {
      if (tensor == 3 && first == bad) return input_error("io-read", "is broken");
      return encode(tensor, first, count, out, thread, error);
    };
    const std::vector<WatchRows> watchers = {[](std::size_t, Bytes) {}, [](std::size_t, Bytes) {}};
    Progress progress;
    const auto done = stream_tensors({&file, 1}, some_tensors(), 5, failing, progress, watchers);
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, "io-read");
  }
}

// The tensors' order in the file differs from the order of their creation.
TEST(Stream, TensorsMayComeInAnyOrder) {
  std::vector<StreamTensor> tensors = some_tensors();
  std::ranges::reverse(tensors);
  const EncodeRows reversed = [](std::size_t tensor, u64 first, u64 count, const EncodedParts& out, unsigned thread,
                                 ValueSums* error) { return encode(3 - tensor, first, count, out, thread, error); };
  for (const unsigned threads : {1u, 3u}) {
    const TempDir folder;
    AtomicOutput output = AtomicOutput::create(folder.file("out"), {}).value();
    const StreamFile file{&output, header, file_size};
    Progress progress;
    ASSERT_TRUE(stream_tensors({&file, 1}, tensors, threads, reversed, progress).has_value());
    ASSERT_TRUE(output.commit().has_value());
    EXPECT_EQ(read_file(folder.file("out")), whole_file);
  }
}

// A source that can be read only once is read in order, by the thread that encodes next.
TEST(Stream, ChunksAreTakenInOrder) {
  for (const unsigned threads : {1u, 2u, 7u}) {
    const StreamFile file{nullptr, header, file_size};
    std::atomic<int> at_once = 0;
    std::string order;
    std::vector<std::pair<std::size_t, u64>> taken(threads);
    const TakeRows take = [&](std::size_t tensor, u64 first, u64 count, unsigned thread) -> Status {
      EXPECT_EQ(++at_once, 1);
      taken[thread] = {tensor, first};
      for (u64 i = 0; i < count; ++i) order += {static_cast<char>('A' + tensor), static_cast<char>('a' + first + i)};
      --at_once;
      return {};
    };
    const EncodeRows encode_taken = [&](std::size_t tensor, u64 first, u64 count, const EncodedParts& out,
                                        unsigned thread, ValueSums* error) {
      EXPECT_EQ(taken[thread], std::pair(tensor, first));
      return encode(tensor, first, count, out, thread, error);
    };
    Progress progress;
    ASSERT_TRUE(stream_tensors({&file, 1}, some_tensors(), threads, encode_taken, progress, {}, take).has_value());
    EXPECT_EQ(order, rows_of_a + rows_of_c + rows_of_d);
  }
}

TEST(Stream, NothingIsMadeOfWhatWasNotTaken) {
  const StreamFile file{nullptr, header, file_size};
  for (const u64 good : {0u, 1u, 3u}) {
    u64 chunks = 0;
    const TakeRows take = [&](std::size_t, u64, u64, unsigned) -> Status {
      return chunks++ == good ? input_error("io-short", "ends") : Status{};
    };
    std::atomic<u64> made = 0;
    const EncodeRows counting = [&](std::size_t tensor, u64 first, u64 count, const EncodedParts& out, unsigned thread,
                                    ValueSums* error) {
      ++made;
      return encode(tensor, first, count, out, thread, error);
    };
    Progress progress;
    const auto done = stream_tensors({&file, 1}, some_tensors(), 4, counting, progress, {}, take);
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(done.error().code, "io-short");
    EXPECT_LE(made, good);
  }
}

TEST(Stream, AnExceptionOfAWatcherIsThrownHere) {
  for (const u64 at : {u64{0}, u64{3}, u64{9}}) {
    const StreamFile file{nullptr, header, file_size};
    u64 chunks = 0;
    std::atomic<u64> others = 0;
    const std::vector<WatchRows> watchers = {[&](std::size_t, Bytes) { ++others; },
                                             [&](std::size_t, Bytes) {
                                               if (chunks++ == at) throw std::bad_alloc();
                                             }};
    Progress progress;
    EXPECT_THROW((void)stream_tensors({&file, 1}, some_tensors(), 4, encode, progress, watchers), std::bad_alloc);
    EXPECT_GT(others.load(), at);
  }
}

}  // namespace
}  // namespace modelutils

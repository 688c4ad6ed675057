#include "formats/pytorch/check_records.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <random>
#include <string_view>
#include <thread>
#include <vector>

#include "io/random_access_file.h"
#include "support/checkpoint_builder.h"

namespace modelutils::pytorch {

namespace {

std::vector<std::byte> random_bytes(std::size_t size) {
  std::mt19937 random(size);
  std::vector<std::byte> bytes(size);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

u32 expected(u32 crc, Bytes bytes) {
  return static_cast<u32>(::crc32(crc, reinterpret_cast<const Bytef*>(bytes.data()), static_cast<uInt>(bytes.size())));
}

// The variants available on this machine.
std::vector<CarrylessProduct> all_products() {
  std::vector<CarrylessProduct> products = {CarrylessProduct::none};
  if (best_carryless_product() >= CarrylessProduct::of_16_bytes) products.push_back(CarrylessProduct::of_16_bytes);
  if (best_carryless_product() >= CarrylessProduct::of_32_bytes) products.push_back(CarrylessProduct::of_32_bytes);
  return products;
}

TEST(Crc32, OfTheStandardsExample) {
  constexpr std::string_view text = "123456789";
  EXPECT_EQ(crc32_of(0, std::as_bytes(std::span(text))), 0xCBF43926U);
  EXPECT_EQ(crc32_of(0, {}), 0U);
}

TEST(Crc32, IsThatOfZlibAtEveryLengthAndPlace) {
  const std::vector<std::byte> bytes = random_bytes(2000);
  for (std::size_t size = 0; size <= 700; ++size) {
    for (const std::size_t at : {0U, 1U, 7U, 16U}) {
      const Bytes piece = Bytes(bytes).subspan(at, size);
      for (const u32 crc : {0U, 1U, 0xFFFFFFFFU, 0x12345678U}) {
        for (const CarrylessProduct product : all_products()) {
          ASSERT_EQ(crc32_of(crc, piece, product), expected(crc, piece)) << size << " bytes at " << at;
        }
      }
    }
  }
  const std::vector<std::byte> large = random_bytes((std::size_t{1} << 20) + 13);
  for (const CarrylessProduct product : all_products()) {
    EXPECT_EQ(crc32_of(0, large, product), expected(0, large));
  }
}

TEST(Crc32, OfTwoPieces) {
  const std::vector<std::byte> bytes = random_bytes(1000);
  const Bytes all(bytes);
  for (const std::size_t cut : {0U, 1U, 300U, 999U, 1000U}) {
    EXPECT_EQ(crc32_joined(crc32_of(0, all.first(cut)), crc32_of(0, all.subspan(cut)), bytes.size() - cut),
              expected(0, all));
  }
}

TEST(ReadChecksums, RangesThatTouchBecomeOne) {
  const std::vector<std::byte> bytes = random_bytes(4000);
  const Bytes all(bytes);
  ReadChecksums read;
  const auto add = [&](std::size_t begin, std::size_t end) { read.add(begin, all.subspan(begin, end - begin)); };
  add(1000, 2000);
  add(3000, 4000);
  add(500, 500);  // empty
  EXPECT_EQ(read.ranges().size(), 2U);
  add(1500, 2500);  // overlaps an earlier range
  add(900, 1001);
  add(2999, 3001);
  add(0, 4000);
  EXPECT_EQ(read.ranges().size(), 2U);
  add(2000, 3000);
  ASSERT_EQ(read.ranges().size(), 1U);
  EXPECT_EQ(read.ranges().begin()->first, 1000U);
  EXPECT_EQ(read.ranges().begin()->second.end, 4000U);
  EXPECT_EQ(read.ranges().begin()->second.crc32, expected(0, all.subspan(1000)));
  add(0, 1000);
  EXPECT_EQ(read.ranges().begin()->second.crc32, expected(0, all));
}

TEST(ReadChecksums, FromSeveralThreads) {
  const std::vector<std::byte> bytes = random_bytes(64000);
  ReadChecksums read;
  {
    std::vector<std::jthread> threads;
    for (std::size_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::size_t piece = thread; piece < 64; piece += 4) {
          read.add(piece * 1000, Bytes(bytes).subspan(piece * 1000, 1000));
        }
      });
    }
  }
  ASSERT_EQ(read.ranges().size(), 1U);
  EXPECT_EQ(read.ranges().begin()->second.crc32, expected(0, bytes));
}

using test::zip;

MemoryFile memory_of(const std::string& content) {
  const auto bytes = std::as_bytes(std::span(content));
  return MemoryFile({bytes.begin(), bytes.end()}, "m.pt");
}

// A file that fails when a given range is read, to detect repeated reads.
class ReadOnce : public MemoryFile {
 public:
  ReadOnce(const MemoryFile& file, u64 begin, u64 end) : MemoryFile(file), begin_(begin), end_(end) {}
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    if (offset < end_ && offset + out.size() > begin_) return input_error("io-read", "is read again");
    return MemoryFile::read_some(offset, out);
  }

 private:
  u64 begin_, end_;
};

std::string by_sevens(std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 7);
  return bytes;
}

class CheckRecords : public ::testing::Test {
 protected:
  // Returns the code and place of each finding, or the error's code.
  std::string found(ReadChecksums& read, unsigned threads = 2) {
    const MemoryFile file = memory_of(content);
    return found(file, read, threads);
  }
  std::string found(const ByteSource& file, ReadChecksums& read, unsigned threads = 2) {
    auto findings = check_records(file, document, read, threads);
    if (!findings) return findings.error().code;
    std::string text;
    for (const Finding& finding : *findings) text += finding.code + " " + finding.where + "\n";
    return text;
  }
  std::string found() {
    ReadChecksums nothing;
    return found(nothing);
  }
  Bytes bytes(u64 begin, u64 end) const { return std::as_bytes(std::span(content)).subspan(begin, end - begin); }

  void SetUp() override {
    content = zip({{.name = "a/one", .content = by_sevens(3'000'000)},
                   {.name = "a/two", .content = by_sevens(700), .deflate = true},
                   {.name = "a/none", .content = ""},
                   {.name = "a/three", .content = by_sevens(5000)}});
    const MemoryFile file = memory_of(content);
    document.records = read_zip(file)->records;
    ASSERT_EQ(document.records.size(), 4U);
  }
  const ZipRecord& one() const { return document.records[0]; }

  std::string content;
  Document document;
};

TEST_F(CheckRecords, ReadsWhatWasNotRead) {
  EXPECT_EQ(found(), "");
  const std::string whole = content;
  content[document.records[1].data_offset + 20] ^= 1;  // deflated
  EXPECT_TRUE(found().starts_with("pt-zip-")) << found();
  EXPECT_TRUE(found().ends_with("record 'a/two'\n")) << found();
  content = whole;
  content[one().data_offset + 2'999'999] ^= 1;
  content[document.records[3].data_offset] ^= 1;
  EXPECT_EQ(found(), "pt-zip-crc record 'a/one'\npt-zip-crc record 'a/three'\n");
}

TEST_F(CheckRecords, DoesNotReadAgain) {
  const u64 begin = one().data_offset, end = begin + one().stored_bytes;
  const MemoryFile memory = memory_of(content);
  // All but the last 1000 bytes have been read, in two pieces.
  ReadChecksums read;
  read.add(begin + 1'000'000, bytes(begin + 1'000'000, end - 1000));
  read.add(begin, bytes(begin, begin + 999'000));
  EXPECT_EQ(found(ReadOnce(memory, begin, begin + 999'000), read), "");
  ReadChecksums again;
  again.add(begin, bytes(begin, end - 1000));
  EXPECT_EQ(found(ReadOnce(memory, begin, end - 999), again), "io-read");
}

TEST_F(CheckRecords, WhatWasReadCounts) {
  const u64 begin = one().data_offset, end = begin + one().stored_bytes;
  content[begin + 5] ^= 1;
  ReadChecksums read;
  read.add(begin, bytes(begin, begin + 1000));
  content[begin + 5] ^= 1;  // as if the file had been repaired in the meantime: the bytes read before were wrong
  EXPECT_EQ(found(read), "pt-zip-crc record 'a/one'\n");
  // Ranges that extend beyond the record's ends do not count.
  ReadChecksums wide;
  wide.add(begin - 10, bytes(begin - 10, begin + 10));
  wide.add(end - 10, bytes(end - 10, end + 10));
  EXPECT_EQ(found(wide), "");
}

}  // namespace

}  // namespace modelutils::pytorch

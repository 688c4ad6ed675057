#include "formats/pytorch/zip.h"

#include <gtest/gtest.h>

#include "io/random_access_file.h"
#include "support/checkpoint_builder.h"

namespace modelutils::pytorch {
namespace {

using test::zip;
using test::ZipFaults;
using test::ZipPart;

MemoryFile file_with(const std::string& content) {
  const auto bytes = std::as_bytes(std::span(content));
  return MemoryFile({bytes.begin(), bytes.end()}, "m.pt");
}

ZipArchive archive_of(const std::string& content) {
  const MemoryFile file = file_with(content);
  auto archive = read_zip(file);
  EXPECT_TRUE(archive.has_value());
  return archive ? std::move(*archive) : ZipArchive{};
}

std::string zip_code(const std::vector<ZipPart>& parts, const ZipFaults& faults = {}) {
  const ZipArchive archive = archive_of(zip(parts, faults));
  return archive.findings.empty() ? "" : archive.findings.front().code;
}

const ZipPart hello{.name = "a/b", .content = "hello"};

TEST(Zip, ReadsStoredAndDeflatedRecords) {
  const std::string content = zip({hello, {.name = "a/c", .content = std::string(5000, 'x'), .deflate = true}});
  const ZipArchive archive = archive_of(content);
  ASSERT_TRUE(archive.findings.empty()) << archive.findings.front().message;
  EXPECT_TRUE(archive.complete);
  ASSERT_EQ(archive.records.size(), 2u);
  EXPECT_EQ(content.substr(archive.records[0].data_offset, 5), "hello");
  const MemoryFile file = file_with(content);
  EXPECT_EQ(archive.records[1].name, "a/c");
  const auto bytes = read_record(file, archive.records[1], 10'000);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(bytes->size(), 5000u);
  EXPECT_EQ((*bytes)[4999], std::byte{'x'});
  EXPECT_EQ(read_record(file, archive.records[1], 4999).error().code, "pt-record-size");
}

TEST(Zip, HeadersThatDisagree) {
  ZipPart other = hello;
  other.local_name = "a/x";
  EXPECT_EQ(zip_code({other}), "pt-zip-header");
  other = hello;
  other.local_method = 8;
  EXPECT_EQ(zip_code({other}), "pt-zip-header");
  other = hello;
  other.crc = 1;
  EXPECT_EQ(zip_code({other}), "pt-zip-header");
  other = hello;
  other.central_bytes = 6;
  EXPECT_EQ(zip_code({other}), "pt-zip-header");
  other = hello;
  other.method = 12;  // bzip2
  EXPECT_EQ(zip_code({other}), "pt-zip-header");
  other = hello;
  other.flags = 1;  // encrypted
  EXPECT_EQ(zip_code({other}), "pt-zip-header");
  other = hello;
  other.flags = 8;  // a descriptor that is missing
  EXPECT_EQ(zip_code({other}), "pt-zip-header");
  other = hello;
  other.header_offset = 3;
  EXPECT_EQ(zip_code({other}), "pt-zip-header");
  other = hello;
  other.header_offset = 1'000'000;
  EXPECT_EQ(zip_code({other}), "pt-zip-header");
}

TEST(Zip, NamesThatLeadAway) {
  for (const char* name : {"../a", "/a", "a/../b", "a\\b", "a//b", "./a", "\xff"}) {
    EXPECT_EQ(zip_code({{.name = name, .content = "x"}}), "pt-zip-name") << name;
  }
}

TEST(Zip, DuplicatesAndOverlaps) {
  EXPECT_EQ(zip_code({hello, hello}), "pt-zip-duplicate");
  EXPECT_EQ(zip_code({hello, {.name = "A/B", .content = "x"}}), "pt-zip-duplicate");
  ZipPart shares = hello;
  shares.header_offset = 0;
  shares.name = "a/b";
  EXPECT_EQ(zip_code({hello, shares}), "pt-zip-overlap");
  EXPECT_EQ(zip_code({hello}, {.front = "#!/bin/sh\n"}), "pt-zip-overlap");
  EXPECT_EQ(zip_code({hello}, {.gap = std::string(100, 'g')}), "pt-zip-overlap");
}

TEST(Zip, EndRecords) {
  EXPECT_EQ(zip_code({hello}, {.count = 9}), "pt-zip-end");
  EXPECT_EQ(zip_code({hello}, {.directory_offset = 1}), "pt-zip-end");
  EXPECT_EQ(zip_code({hello}, {.without_end = true}), "pt-zip-end");
  EXPECT_EQ(archive_of("PK\3\4").findings.front().code, "pt-zip-end");
}

const std::string end_record = "PK\5\6" + std::string(18, '\0');

TEST(Zip, ReadersMustAgreeWhereItEnds) {
  EXPECT_EQ(zip_code({hello}, {.comment = "made by hand"}), "");
  EXPECT_EQ(zip_code({hello}, {.behind = "x"}), "pt-zip-end");
  EXPECT_EQ(zip_code({hello}, {.comment = end_record}), "pt-zip-end");
  EXPECT_EQ(zip_code({hello}, {.comment = "PK\5\6"}), "pt-zip-end");  // too short for miniz, but not for Python
  EXPECT_EQ(zip_code({hello}, {.behind = zip({hello})}), "pt-zip-end");
  ZipPart commented = hello;
  commented.comment = end_record;
  EXPECT_EQ(zip_code({commented}), "pt-zip-end");
  ZipPart noise = hello;
  noise.content = "PK\5\6 is no end record of one disk";
  EXPECT_EQ(zip_code({noise}), "");
  noise.content = end_record;
  EXPECT_EQ(zip_code({noise}), "pt-zip-end");
}

/// The zip64 end record and its locator, with `hidden` between them.
std::string zip64_end(u64 directory, u64 bytes, u64 count, const std::string& hidden = {}, u64 disks = 1) {
  using namespace test::pickle;
  return "PK\6\6" + u64_bytes(44 + hidden.size()) + u16_bytes(45) + u16_bytes(45) + u32_bytes(0) + u32_bytes(0) +
         u64_bytes(count) + u64_bytes(count) + u64_bytes(bytes) + u64_bytes(directory) + hidden + "PK\6\7" +
         u32_bytes(0) + u64_bytes(directory + bytes) + u32_bytes(disks);
}

TEST(Zip, BothEndRecordsAgree) {
  constexpr u64 local = 30 + 3 + 5, central = 46 + 3;
  EXPECT_EQ(zip_code({hello}, {.zip64 = zip64_end(local, central, 1)}), "");
  EXPECT_EQ(zip_code({hello}, {.zip64 = zip64_end(local, central, 2)}), "pt-zip-end");
  EXPECT_EQ(zip_code({hello}, {.zip64 = zip64_end(local - 1, central + 1, 1)}), "pt-zip-end");
  EXPECT_EQ(zip_code({hello}, {.zip64 = zip64_end(local, central, 1, {}, 2)}), "pt-zip-end");
  // Python uses the record right before the locator, whatever the locator says.
  EXPECT_EQ(zip_code({hello}, {.zip64 = zip64_end(local, central, 1, std::string(56, 'h'))}), "pt-zip-end");
}

TEST(Zip, EveryByteBelongsToARecord) {
  const ZipPart other = {.name = "a/c", .content = "more"};
  ZipPart behind = hello;
  behind.behind = "gap";
  EXPECT_EQ(zip_code({behind, other}), "pt-zip-overlap");
  EXPECT_EQ(zip_code({other, behind}), "pt-zip-overlap");
  using namespace test::pickle;
  const std::string crc = u32_bytes(0x3610a686);  // zlib.crc32(b"hello")
  for (const std::string& descriptor :
       {crc + u32_bytes(5) + u32_bytes(5), "PK\7\x08" + crc + u32_bytes(5) + u32_bytes(5),
        crc + u64_bytes(5) + u64_bytes(5), "PK\7\x08" + crc + u64_bytes(5) + u64_bytes(5)}) {
    ZipPart part = hello;
    part.flags = 8;
    part.is_empty_there = true;
    part.behind = descriptor;
    EXPECT_EQ(zip_code({part, other}), "");
    EXPECT_EQ(zip_code({other, part}), "");
    part.behind = descriptor + "x";
    EXPECT_EQ(zip_code({part, other}), "pt-zip-overlap");
    part.behind = descriptor.substr(1);
    EXPECT_EQ(zip_code({part, other}), "pt-zip-header");
  }
}

TEST(Zip, RecordsThatTorchReadsAsNothing) {
  ZipPart other = hello;
  other.attributes = 0x10;
  EXPECT_EQ(zip_code({other}), "pt-zip-header");
  EXPECT_EQ(zip_code({{.name = "a/", .content = "hello"}}), "pt-zip-header");
  EXPECT_EQ(zip_code({hello, {.name = "a/", .content = "", .attributes = 0x10}}), "");
  other = hello;
  other.disk = 1;
  EXPECT_EQ(zip_code({other}), "pt-zip-header");
}

TEST(Zip, SecondNames) {
  using namespace test::pickle;
  ZipPart other = hello;
  other.extra = u16_bytes(0x7075) + u16_bytes(8) + "\1" + u32_bytes(0) + "a/x";
  EXPECT_EQ(zip_code({other}), "pt-zip-name");
}

TEST(Zip, SharedHeadersAreReadOnce) {
  std::vector<ZipPart> parts(1, hello);
  for (int i = 0; i < 1000; ++i) parts.push_back({.name = "a/b", .content = "hello", .header_offset = 0});
  const ZipArchive archive = archive_of(zip(parts));
  EXPECT_EQ(archive.records.size(), 1u);
  EXPECT_EQ(archive.findings.errors(), 1000u);
}

TEST(Zip, EveryCutIsNoticed) {
  const std::string whole = zip({hello, {.name = "a/c", .content = "more"}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_GT(archive_of(whole.substr(0, size)).findings.errors(), 0u) << size;
  }
}

TEST(Zip, CrcOfTheBytes) {
  std::string content = zip({hello});
  const ZipArchive archive = archive_of(content);
  content[archive.records[0].data_offset] ^= 1;
  const MemoryFile file = file_with(content);
  EXPECT_EQ(check_crc(file, archive.records[0]).error().code, "pt-zip-crc");
}

}  // namespace
}  // namespace modelutils::pytorch

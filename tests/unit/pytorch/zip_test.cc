#include "pytorch/zip.h"

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
  const auto bytes = read_record(file, *archive.find("a/c"), 10'000);
  ASSERT_TRUE(bytes.has_value());
  EXPECT_EQ(bytes->size(), 5000u);
  EXPECT_EQ((*bytes)[4999], std::byte{'x'});
  EXPECT_EQ(read_record(file, *archive.find("a/c"), 4999).error().code, "pt-record-size");
  EXPECT_EQ(archive.find("a/d"), nullptr);
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
  other.flags = 8;  // a descriptor that is not there
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

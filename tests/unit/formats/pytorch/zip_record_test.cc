#include "formats/pytorch/zip_record.h"

#include <gtest/gtest.h>

#include <random>

#include "io/random_access_file.h"
#include "support/checkpoint_builder.h"

namespace modelutils::pytorch {

namespace {

struct Deflated {
  std::string content;
  MemoryFile file;
  ZipRecord record;
};

Deflated deflated(std::string content) {
  const std::string archive = test::zip({{.name = "a/b", .content = content, .deflate = true}});
  const auto bytes = std::as_bytes(std::span(archive));
  MemoryFile file({bytes.begin(), bytes.end()}, "m.pt");
  const ZipRecord record = read_zip(file)->records.at(0);
  return {std::move(content), std::move(file), record};
}

std::string compressible(std::size_t size) {
  std::mt19937 random(1);
  std::string text(size, '\0');
  for (char& c : text) c = static_cast<char>(random() % 7);
  return text;
}

TEST(InflatedSource, AnyPlaceInAnyOrder) {
  const Deflated made = deflated(compressible(40 << 20));
  const InflatedSource source(made.file, made.record);
  std::mt19937 random(2);
  for (int i = 0; i < 24; ++i) {
    const u64 offset = i == 0 ? made.content.size() - 10 : random() % made.content.size();
    std::string got(1000, '\0');
    const auto size = source.read_some(offset, std::as_writable_bytes(std::span(got)));
    ASSERT_TRUE(size.has_value());
    EXPECT_EQ(got.substr(0, *size), made.content.substr(offset, 1000)) << offset;
  }
  EXPECT_EQ(source.read_some(made.content.size(), {}).value_or(1), 0u);
}

TEST(InflatedSource, BytesThatAreNotDeflate) {
  Deflated made = deflated(compressible(100'000));
  std::vector<std::byte> bytes(made.file.bytes().begin(), made.file.bytes().end());
  bytes[made.record.data_offset] = std::byte{0xff};
  const MemoryFile file(std::move(bytes), "m.pt");
  EXPECT_EQ(check_crc(file, made.record).error().code, "pt-zip-deflate");
}

TEST(InflatedSource, LengthsThatLie) {
  const Deflated made = deflated(compressible(100'000));
  ZipRecord lies = made.record;
  lies.bytes -= 1;
  EXPECT_EQ(check_crc(made.file, lies).error().code, "pt-zip-deflate");
  lies = made.record;
  lies.bytes += 1;
  EXPECT_EQ(check_crc(made.file, lies).error().code, "pt-zip-deflate");
  lies = made.record;
  lies.stored_bytes -= 5;
  EXPECT_EQ(check_crc(made.file, lies).error().code, "pt-zip-deflate");
}

}  // namespace

}  // namespace modelutils::pytorch

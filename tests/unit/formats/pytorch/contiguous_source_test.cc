#include "formats/pytorch/contiguous_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "formats/pytorch/parse.h"
#include "io/random_access_file.h"
#include "support/checkpoint_builder.h"

namespace modelutils::pytorch {
namespace {

using namespace test::pickle;

/// Returns the bytes 0, 1, 2, …
std::string counting(std::size_t size) {
  std::string bytes(size, '\0');
  std::iota(bytes.begin(), bytes.end(), '\0');
  return bytes;
}

std::shared_ptr<MemoryFile> memory(const std::string& content) {
  const auto bytes = std::as_bytes(std::span(content));
  return std::make_shared<MemoryFile>(std::vector<std::byte>(bytes.begin(), bytes.end()), "m.pt");
}

/// Returns the tensor's values as element numbers. Reads in pieces of 1 to 7 bytes, and at once.
std::vector<int> values_of(const std::shared_ptr<MemoryFile>& file) {
  const auto document = parse(*file);
  EXPECT_TRUE(document && document->findings.empty())
      << (document && !document->findings.empty() ? document->findings.front().message : "");
  if (!document || document->tensors.empty()) return {};
  const ContiguousSource source(file, *document);
  const u64 begin = source.offset_of(0), size = document->tensors.at(0).bytes;
  std::string whole(size, '\0');
  EXPECT_TRUE(source.read_exact(begin, std::as_writable_bytes(std::span(whole))));
  for (std::size_t piece = 1; piece < 8; ++piece) {
    std::string again;
    while (again.size() < size) {
      std::string part(std::min(piece, static_cast<std::size_t>(size) - again.size()), '\0');
      EXPECT_TRUE(source.read_exact(begin + again.size(), std::as_writable_bytes(std::span(part))));
      again += part;
    }
    EXPECT_EQ(again, whole) << piece;
  }
  std::vector<int> values;
  for (std::size_t i = 0; i < whole.size(); i += 2) values.push_back(static_cast<unsigned char>(whole[i]) / 2);
  return values;
}

std::vector<int> view(i32 offset, const std::vector<i32>& sizes, const std::vector<i32>& strides) {
  return values_of(memory(test::checkpoint(
      dict({{"w", tensor(storage("ShortStorage", "0", 24), offset, sizes, strides)}}), {{"0", counting(48)}})));
}

// Element numbers computed by hand: offset + Σ index × stride, last index fastest.
TEST(ContiguousSource, GathersByStride) {
  EXPECT_EQ(view(0, {2, 3}, {3, 1}), (std::vector<int>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(view(0, {3, 2}, {1, 3}), (std::vector<int>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(view(4, {3}, {2}), (std::vector<int>{4, 6, 8}));
  EXPECT_EQ(view(1, {2, 2}, {0, 5}), (std::vector<int>{1, 6, 1, 6}));
  EXPECT_EQ(view(0, {3, 2}, {1, 1}), (std::vector<int>{0, 1, 1, 2, 2, 3}));
  EXPECT_EQ(view(0, {2, 2, 3}, {1, 12, 2}), (std::vector<int>{0, 2, 4, 12, 14, 16, 1, 3, 5, 13, 15, 17}));
  EXPECT_EQ(view(23, {}, {}), (std::vector<int>{23}));
}

TEST(ContiguousSource, DeflatedStorages) {
  const std::string pickle = dict({{"w", tensor(storage("ShortStorage", "0", 24), 0, {3, 2}, {1, 3})}});
  const std::string file = test::zip({{.name = "a/data.pkl", .content = pickle, .deflate = true},
                                      {.name = "a/version", .content = "3\n"},
                                      {.name = "a/data/0", .content = counting(48), .deflate = true}});
  EXPECT_EQ(values_of(memory(file)), (std::vector<int>{0, 3, 1, 4, 2, 5}));
}

TEST(ContiguousSource, WhatIsOneRunKeepsItsPlaceInTheFile) {
  const std::string content =
      test::checkpoint(dict({{"w", tensor(storage("ShortStorage", "0", 24), 2, {4}, {1})}}), {{"0", counting(48)}});
  const auto file = memory(content);
  const auto document = parse(*file);
  const ContiguousSource source(file, *document);
  EXPECT_EQ(source.size(), content.size());
  EXPECT_EQ(content.substr(source.offset_of(0), 8), counting(12).substr(4));
}

}  // namespace
}  // namespace modelutils::pytorch

#include "forms/tensor_values.h"

#include <gtest/gtest.h>

#include "io/random_access_file.h"

namespace modelutils {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

TEST(ReadLines, RowsThatShareALineEachGetIt) {
  const MemoryFile file(bytes_of("--aabbccdd"), "lines");
  const StoredPlane plane{&file, 2};
  const auto lines = [&](u64 shared_by, u64 first, u64 count) {
    std::string out(count * 2, '?');
    EXPECT_TRUE(read_lines(plane, {2, shared_by}, first, count, std::as_writable_bytes(std::span(out))));
    return out;
  };
  EXPECT_EQ(lines(1, 1, 2), "bbcc");
  EXPECT_EQ(lines(3, 0, 7), "aaaaaabbbbbbcc");
  EXPECT_EQ(lines(3, 2, 3), "aabbbb");
  EXPECT_EQ(lines(3, 5, 1), "bb");
  EXPECT_EQ(lines(3, 2, 8), "aabbbbbbccccccdd");
  EXPECT_EQ(lines(PlaneLayout::all_rows, 5, 3), "aaaaaa");
}

TEST(ReadLines, SaysWhatIsMissing) {
  const MemoryFile file(bytes_of("aabb"), "lines");
  std::string out(4, '?');
  EXPECT_EQ(read_lines({&file, 0}, {2, 1}, 1, 2, std::as_writable_bytes(std::span(out))).error().code, "io-short");
}

// Two rows of three E4M3 elements, with one BF16 scale of 0.5.
TEST(MatrixValues, ReadsAnyRangeOfElements) {
  const MemoryFile file({std::byte{0x38}, std::byte{0x40}, std::byte{0x44}, std::byte{0x48}, std::byte{0x4A},
                         std::byte{0x4C}, std::byte{0x00}, std::byte{0x3F}},
                        "weights");
  StoredMatrix matrix;
  matrix.form = fp8_form(TensorType::BF16);
  matrix.elements = 6;
  matrix.columns = 3;
  matrix.planes[0] = {&file, 0};
  matrix.planes[1] = {&file, 6};
  const MatrixValues values(matrix, "w", "weights");
  const std::vector<float> all = {0.5f, 1, 1.5f, 2, 2.5f, 3};
  for (u64 first = 0; first < 6; ++first) {
    for (u64 count = 0; first + count <= 6; ++count) {
      std::vector<float> some(count);
      ASSERT_TRUE(values.read_values(first, some));
      EXPECT_EQ(some, std::vector<float>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                         all.begin() + static_cast<std::ptrdiff_t>(first + count)));
    }
  }
  std::vector<float> beyond(2);
  EXPECT_EQ(values.read_values(5, beyond).error().code, "internal");
}

TEST(MatrixValues, SaysWhatCannotBeDecoded) {
  const MemoryFile file(bytes_of("abcd"), "weights");
  StoredMatrix matrix;
  matrix.form = plain_form(TensorType::F32);
  matrix.form.big_endian = true;
  matrix.elements = 1;
  matrix.planes[0] = {&file, 0};
  std::vector<float> out(1);
  const auto big = MatrixValues(matrix, "w", "weights").read_values(0, out);
  EXPECT_EQ(big.error().code, "tensor-no-decoder");
  EXPECT_EQ(big.error().message, "values of a big-endian file cannot be decoded");
  matrix.form = opaque_form();
  const auto unknown = MatrixValues(matrix, "w", "weights").read_values(0, out);
  EXPECT_EQ(unknown.error().message, "values of type unknown cannot be decoded");
  EXPECT_EQ(unknown.error().file, "weights");
}

}  // namespace
}  // namespace modelutils

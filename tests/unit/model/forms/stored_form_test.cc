#include "model/forms/stored_form.h"

#include <gtest/gtest.h>

#include <cstring>

#include "io/random_access_file.h"

namespace modelutils {
namespace {

// E4M3 codes: 1, 2, −1, the smallest number, 448, 1.5.
constexpr u8 one = 0x38, two = 0x40, minus_one = 0xB8, least = 0x01, greatest = 0x7E, one_and_a_half = 0x3C;

std::vector<std::byte> bytes_of(std::initializer_list<u8> codes) {
  std::vector<std::byte> bytes;
  for (const u8 code : codes) bytes.push_back(std::byte{code});
  return bytes;
}

std::vector<std::byte> text_bytes(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

std::vector<std::byte> floats(std::initializer_list<float> values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.begin(), bytes.size());
  return bytes;
}

std::vector<float> decoded(const StoredForm& form, u64 columns, const StoredRows& rows, std::size_t elements) {
  std::vector<float> out(elements);
  form_info(form).decode(form, columns, planes_of(rows), out);
  return out;
}

TEST(StoredForm, Fp8WithOneScaleIsAProduct) {
  const StoredForm form = fp8_form(TensorType::F32);
  StoredRows rows;
  rows.planes[0] = bytes_of({one, two, minus_one, least, greatest, one_and_a_half});
  rows.planes[1] = floats({0.25f, 0.25f});  // a line per row
  EXPECT_EQ(decoded(form, 3, rows, 6), (std::vector<float>{0.25f, 0.5f, -0.25f, 0x1p-11f, 112, 0.375f}));
  EXPECT_EQ(form_info(form).text(form), "FP8 E4M3 per tensor");
  EXPECT_EQ(text_with_scales(form), "FP8 E4M3 per tensor, F32 scales");
  EXPECT_EQ(form_info(form).plane(form, 1, 3).rows, PlaneLayout::all_rows);
}

TEST(StoredForm, Fp8HasAScaleForEachRectangle) {
  // Rectangles with 2, 2 and 1 columns.
  const StoredForm form = fp8_form(TensorType::F32, 4, 2);
  EXPECT_EQ(form_info(form).plane(form, 1, 5).line_bytes, 12u);
  EXPECT_EQ(form_info(form).plane(form, 1, 5).rows, 4u);
  StoredRows rows;
  rows.planes[0] = bytes_of({one, two, one, two, one});
  rows.planes[1] = floats({1, 10, 100});
  EXPECT_EQ(decoded(form, 5, rows, 5), (std::vector<float>{1, 2, 10, 20, 100}));
}

TEST(StoredForm, Fp8TakesScalesOfSixteenBits) {
  const StoredForm form = fp8_form(TensorType::BF16, 1);
  StoredRows rows;
  rows.planes[0] = bytes_of({one, two});
  rows.planes[1] = bytes_of({0x00, 0x40, 0x80, 0xBF});  // 2 and −1
  EXPECT_EQ(decoded(form, 1, rows, 2), (std::vector<float>{2, -2}));
  EXPECT_EQ(form_info(form).text(form), "FP8 E4M3 per row");
}

TEST(StoredForm, FormsOfOneKindDiffer) {
  EXPECT_EQ(plain_form(TensorType::F16), plain_form(TensorType::F16));
  EXPECT_NE(plain_form(TensorType::F16), plain_form(TensorType::BF16));
  EXPECT_NE(fp8_form(TensorType::F32), fp8_form(TensorType::F32, 1));
  const mlx::Params four_bits{mlx::Mode::affine, 4, 64};
  EXPECT_NE(mlx_form(four_bits, TensorType::U32, TensorType::F16, TensorType::F16),
            mlx_form(four_bits, TensorType::U32, TensorType::F16, TensorType::BF16));
}

TEST(StoredForm, UnitsAndBits) {
  const auto unit = [](const StoredForm& form) { return form_info(form).unit(form, 256); };
  EXPECT_EQ(unit(plain_form(TensorType::Q4_K)), 256u);
  EXPECT_EQ(unit(plain_form(TensorType::F32)), 1u);
  EXPECT_EQ(unit(mlx_form({mlx::Mode::affine, 4, 64}, TensorType::U32, TensorType::F16, TensorType::F16)), 64u);
  EXPECT_EQ(unit(fp8_form(TensorType::F32)), 256u);
  EXPECT_FALSE(form_info(opaque_form()).has_decoder(opaque_form()));
  const StoredForm q4_0 = plain_form(TensorType::Q4_0);
  EXPECT_EQ(form_info(q4_0).bits(q4_0), 4.5);
}

TEST(ReadLines, RowsThatShareALineEachGetIt) {
  const MemoryFile file(text_bytes("--aabbccdd"), "lines");
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
  const MemoryFile file(text_bytes("aabb"), "lines");
  std::string out(4, '?');
  EXPECT_EQ(read_lines({&file, 0}, {2, 1}, 1, 2, std::as_writable_bytes(std::span(out))).error().code, "io-short");
}

}  // namespace
}  // namespace modelutils

// The GGUF type for each MLX form: the table "quantised matrices" in docs/conversion.md, row by row.
#include "convert/transfer/mlx_target.h"

#include <gtest/gtest.h>

namespace modelutils {
namespace {

MlxForm form(mlx::Mode mode, u32 bits, u32 group, TensorType scales = TensorType::F16, u64 columns = 256) {
  return {{mode, bits, group}, scales, scales, columns};
}
MlxForm affine(u32 bits, u32 group, TensorType scales = TensorType::F16, u64 columns = 256) {
  return form(mlx::Mode::affine, bits, group, scales, columns);
}
ScaleAnalysis sound() {
  ScaleAnalysis analysis;
  analysis.values = 8;
  analysis.symmetric = false;
  analysis.largest = 1;
  return analysis;
}

struct Chosen {
  TensorType type;
  bool exact;
  bool operator==(const Chosen&) const = default;
};
Chosen chosen(const MlxForm& form, const ScaleAnalysis& analysis, const RepackOptions& options = {}) {
  const Result<Target> target = choose_target(form, analysis, options, false);
  EXPECT_TRUE(target);
  return {target->type, target->exact};
}

TEST(MlxTarget, AffineCodesKeepTheirBlocks) {
  for (const u32 bits : {2u, 3u, 4u}) {
    EXPECT_EQ(chosen(affine(bits, 64), sound()), (Chosen{TensorType::Q4_1, true})) << bits;
  }
  EXPECT_EQ(chosen(affine(5, 32), sound()), (Chosen{TensorType::Q5_1, true}));
  EXPECT_EQ(chosen(affine(6, 64), sound()), (Chosen{TensorType::Q8_0, false}));
  EXPECT_EQ(chosen(affine(8, 64), sound()), (Chosen{TensorType::Q8_0, false}));
  EXPECT_EQ(chosen(affine(4, 16), sound()), (Chosen{TensorType::Q8_0, false})) << "half a block shares a scale";
  ScaleAnalysis symmetric = sound();
  symmetric.symmetric = true;
  EXPECT_EQ(chosen(affine(8, 64), symmetric), (Chosen{TensorType::Q8_0, true}));
  EXPECT_EQ(chosen(affine(6, 64), symmetric), (Chosen{TensorType::Q8_0, false})) << "only 8 bits have that form";
}

TEST(MlxTarget, ScalesThatF16CannotHold) {
  ScaleAnalysis rounded = sound();
  rounded.inexact = 1;
  EXPECT_EQ(chosen(affine(4, 64, TensorType::BF16), rounded), (Chosen{TensorType::Q4_1, false}));
  EXPECT_EQ(chosen(affine(4, 64, TensorType::F32), rounded), (Chosen{TensorType::Q8_0, false}));
  ScaleAnalysis huge = sound();
  huge.too_large = 1;
  EXPECT_EQ(chosen(affine(4, 64, TensorType::BF16), huge), (Chosen{TensorType::F32, true}));
}

TEST(MlxTarget, FallbacksThatOverflowGrow) {
  ScaleAnalysis large = sound();
  large.largest = 70000;
  EXPECT_EQ(chosen(affine(6, 64), large), (Chosen{TensorType::Q8_0, false}));
  EXPECT_EQ(chosen(affine(6, 64), large, {.fallback = TensorType::F16}), (Chosen{TensorType::F32, true}));
  large.largest = 1e7;  // a 127th of it exceeds f16
  EXPECT_EQ(chosen(affine(6, 64), large), (Chosen{TensorType::F32, true}));
  EXPECT_EQ(chosen(affine(6, 16, TensorType::F16, 48), sound()), (Chosen{TensorType::F16, false})) << "48 = 1.5 blocks";
}

TEST(MlxTarget, FloatingPointModes) {
  ScaleAnalysis scales = sound();
  scales.least_exponent = 110;
  scales.greatest_exponent = 140;
  const MlxForm mxfp4 = form(mlx::Mode::mxfp4, 4, 32, TensorType::U8);
  EXPECT_EQ(chosen(mxfp4, scales), (Chosen{TensorType::MXFP4, true}));
  EXPECT_EQ(chosen(mxfp4, scales, {.compat = true}), (Chosen{TensorType::Q5_0, true}));
  const MlxForm mxfp8 = form(mlx::Mode::mxfp8, 8, 32, TensorType::U8);
  EXPECT_EQ(chosen(mxfp8, scales), (Chosen{TensorType::BF16, true}));
  scales.least_exponent = 103;
  EXPECT_EQ(chosen(mxfp4, scales, {.compat = true}), (Chosen{TensorType::BF16, true}));
  scales.greatest_exponent = 247;
  EXPECT_EQ(chosen(mxfp8, scales), (Chosen{TensorType::F32, true}));
  scales.greatest_exponent = 255;
  EXPECT_EQ(chosen(mxfp4, scales), (Chosen{TensorType::F32, true}));
  const MlxForm nvfp4 = form(mlx::Mode::nvfp4, 4, 16, TensorType::U8);
  EXPECT_EQ(chosen(nvfp4, sound()), (Chosen{TensorType::NVFP4, true}));
  EXPECT_EQ(chosen(nvfp4, sound(), {.compat = true}), (Chosen{TensorType::F16, true}));
  EXPECT_EQ(chosen(form(mlx::Mode::nvfp4, 4, 16, TensorType::U8, 96), sound()), (Chosen{TensorType::F16, true}));
  ScaleAnalysis odd = sound();
  odd.odd_scales = 1;
  EXPECT_EQ(chosen(nvfp4, odd), (Chosen{TensorType::F16, true}));
}

TEST(MlxTarget, ExactRefusesOrWidens) {
  const Result<Target> refused = choose_target(affine(6, 64), sound(), {.exact = true}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, "convert-inexact");
  EXPECT_EQ(chosen(affine(6, 64), sound(), {.fallback = TensorType::F32, .exact = true}),
            (Chosen{TensorType::F32, true}));
  const Result<Target> router = choose_target(affine(4, 64), sound(), {}, true);
  ASSERT_TRUE(router);
  EXPECT_EQ(router->type, TensorType::F32) << "what must be F32 is never packed";
}

}  // namespace
}  // namespace modelutils

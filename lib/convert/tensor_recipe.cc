#include "convert/tensor_recipe.h"

#include <algorithm>
#include <cstring>

#include "tensor/dequantize.h"

namespace modelutils::convert {

namespace {

constexpr u64 analysis_bytes = u64{512} << 10;

// Walks the scales and biases of all parts in pieces; `with_codes` for the modes whose zero groups matter.
Status analyse(const HfModel& model, const MappedTensor& tensor, const MlxForm& form, bool with_codes,
               ScaleAnalysis& analysis) {
  std::vector<std::byte> scales;
  std::vector<std::byte> biases;
  std::vector<std::byte> codes;
  for (const RowRange& part : tensor.parts) {
    const SourceMatrix& matrix = model.matrices[part.matrix];
    const u64 scale_bytes = matrix.scales.bytes / matrix.rows;
    const u64 bias_bytes = matrix.biases.bytes / matrix.rows;
    const u64 code_bytes = with_codes ? matrix.row_bytes() : 0;
    const u64 step = std::max<u64>(analysis_bytes / std::max<u64>(scale_bytes + bias_bytes + code_bytes, 1), 1);
    for (u64 row = 0; row < part.count; row += step) {
      const u64 count = std::min(step, part.count - row);
      const u64 first = part.first + row;
      scales.resize(count * scale_bytes);
      biases.resize(count * bias_bytes);
      codes.resize(count * code_bytes);
      MU_TRY(model.source(matrix.scales).read_exact(matrix.scales.offset + first * scale_bytes, scales));
      if (bias_bytes > 0) {
        MU_TRY(model.source(matrix.biases).read_exact(matrix.biases.offset + first * bias_bytes, biases));
      }
      if (with_codes) {
        MU_TRY(model.source(matrix.values).read_exact(matrix.values.offset + first * code_bytes, codes));
      }
      analyse_scales(form, scales, biases, codes, analysis);
    }
  }
  return {};
}

Result<Target> quantized_target(const HfModel& model, const MappedTensor& tensor, const MlxForm& form,
                                const RepackOptions& options) {
  if (tensor.must_be_f32) return choose_target(form, {}, options, true);
  ScaleAnalysis analysis;
  MU_TRY(analyse(model, tensor, form, false, analysis));
  Result<Target> target = choose_target(form, analysis, options, false);
  const bool is_mx = form.params.mode == mlx::Mode::mxfp4 || form.params.mode == mlx::Mode::mxfp8;
  const bool is_ideal = target && (target->recipe == Recipe::blocks ||
                                   (form.params.mode == mlx::Mode::mxfp8 && target->type == TensorType::BF16));
  if (!is_mx || is_ideal) return target;
  // Perhaps only groups of zeros have exponents out of range: look at the codes, too.
  analysis = {};
  MU_TRY(analyse(model, tensor, form, true, analysis));
  return choose_target(form, analysis, options, false);
}

}  // namespace

MlxForm form_of(const SourceMatrix& matrix) {
  return {*matrix.quantized, matrix.scales.type, matrix.biases.type, matrix.columns};
}

Result<TensorRecipe> make_recipe(const HfModel& model, const MappedTensor& tensor, const RepackOptions& options) {
  TensorRecipe recipe;
  if (tensor.parts.empty()) {
    recipe.source = recipe.form = "generated";
    return recipe;
  }
  const SourceMatrix& matrix = model.matrices[tensor.parts.front().matrix];
  recipe.source = matrix.name;
  if (!matrix.quantized) {
    recipe.form = type_name(matrix.values.type);
    recipe.type = tensor.must_be_f32 ? TensorType::F32 : matrix.values.type;
    return recipe;
  }
  const MlxForm form = form_of(matrix);
  recipe.form = form.text();
  Result<Target> target = quantized_target(model, tensor, form, options);
  if (!target) {
    if (target.error().where.empty()) target.error().where = "tensor '" + tensor.name + "'";
    return tl::make_unexpected(in_file(std::move(target.error()), model.directory));
  }
  recipe.target = std::move(*target);
  recipe.type = recipe.target.type;
  recipe.exact = recipe.target.exact;
  recipe.reason = recipe.target.reason;
  return recipe;
}

Status encode_rows(const HfModel& model, const MappedTensor& tensor, const TensorRecipe& recipe, u64 first, u64 count,
                   MutableBytes out, StoredRows& scratch, MeasuredError* error) {
  if (tensor.ne.size() == 1) {
    MU_ASSIGN(const std::vector<float> values, read_vector(model, tensor));
    std::memcpy(out.data(), values.data(), out.size());
    return {};
  }
  MU_TRY(read_stored_rows(model, tensor, first, count, scratch));
  const SourceMatrix& matrix = model.matrices[tensor.parts.front().matrix];
  if (matrix.quantized) {
    repack_rows(form_of(matrix), recipe.target, scratch.values, scratch.scales, scratch.biases, out, error);
  } else if (recipe.type == matrix.values.type) {
    std::memcpy(out.data(), scratch.values.data(), out.size());
  } else {
    std::vector<float> values(static_cast<std::size_t>(count * tensor.columns()));
    decode_rows(matrix, scratch, values);
    std::memcpy(out.data(), values.data(), out.size());
  }
  return {};
}

}  // namespace modelutils::convert

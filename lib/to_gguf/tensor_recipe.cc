#include "to_gguf/tensor_recipe.h"

#include <algorithm>
#include <cstring>

#include "tensor/dequantize.h"
#include "to_gguf/transposed_rows.h"

namespace modelutils::convert {

namespace {

Result<Target> quantized_target(const HfModel& model, const MappedTensor& tensor, const MlxForm& form,
                                const RepackOptions& options) {
  if (tensor.must_be_f32) return choose_target(form, {}, options, true);
  ScaleAnalysis analysis;
  MU_TRY(analyse_tensor(model, tensor, false, analysis));
  Result<Target> target = choose_target(form, analysis, options, false);
  const bool is_mx = form.params.mode == mlx::Mode::mxfp4 || form.params.mode == mlx::Mode::mxfp8;
  const bool is_ideal = target && (target->recipe == Recipe::blocks ||
                                   (form.params.mode == mlx::Mode::mxfp8 && target->type == TensorType::BF16));
  // Only scales that f16 rounds stand in the way of --exact.
  const bool nearly_exact = form.params.mode == mlx::Mode::affine && options.exact && analysis.inexact > 0 &&
                            analysis.too_large == 0 && form.params.bits <= 5;
  if (!nearly_exact && (!is_mx || is_ideal)) return target;
  // Perhaps only groups of zeros have exponents out of range or scales that are rounded: look at the codes, too.
  analysis = {};
  MU_TRY(analyse_tensor(model, tensor, true, analysis));
  return choose_target(form, analysis, options, false);
}

}  // namespace

Result<TensorRecipe> make_recipe(const HfModel& model, const MappedTensor& tensor, const RepackOptions& options,
                                 Look look) {
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
    if (!tensor.column_lengths.empty()) {
      recipe.measured = false;  // there are no exact values to compare with
      recipe.reason = "columns divided by their lengths";
    }
    return recipe;
  }
  const MlxForm form = form_of(matrix);
  recipe.form = form.text();
  if (tensor.has_computed_rows()) {
    recipe.target.reason = recipe.reason = tensor.is_transposed ? "transposed, so its quantised blocks cannot be kept"
                                                                : "multiplied by a setting of the model";
    return recipe;
  }
  const ScaleUse use = tensor.must_be_f32 ? ScaleUse::nothing : scale_use(form, options);
  const bool may_skip = look == Look::size && !options.exact && use != ScaleUse::size;
  Result<Target> target =
      may_skip ? choose_target(form, {}, options, tensor.must_be_f32) : quantized_target(model, tensor, form, options);
  if (!target) {
    if (target.error().where.empty()) target.error().where = at_tensor(tensor.name);
    return tl::make_unexpected(in_file(std::move(target.error()), model.directory));
  }
  recipe.target = std::move(*target);
  recipe.type = recipe.target.type;
  recipe.exact = recipe.target.exact;
  recipe.measured = !may_skip || use == ScaleUse::nothing;
  if (recipe.measured) recipe.reason = recipe.target.reason;
  return recipe;
}

Status encode_rows(const HfModel& model, const MappedTensor& tensor, const TensorRecipe& recipe, u64 first, u64 count,
                   MutableBytes out, StoredRows& scratch, MeasuredError* error) {
  if (tensor.is_whole) {
    MU_ASSIGN(const std::vector<float> values, read_whole(model, tensor));
    std::memcpy(out.data(), values.data(), out.size());
    return {};
  }
  MU_TRY(read_stored_rows(model, tensor, first, count, scratch));
  const SourceMatrix& matrix = model.matrices[tensor.parts.front().matrix];
  if (matrix.quantized && !tensor.has_computed_rows()) {
    repack_rows(form_of(matrix), recipe.target, scratch.values, scratch.scales, scratch.biases, out, error);
  } else if (recipe.type == values_type(matrix)) {
    std::memcpy(out.data(), scratch.values.data(), out.size());
  } else {
    std::vector<float> values(static_cast<std::size_t>(count * tensor.columns()));
    decode_rows(model, tensor, scratch, values);
    std::memcpy(out.data(), values.data(), out.size());
  }
  return {};
}

}  // namespace modelutils::convert

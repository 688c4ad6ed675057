#include "to_gguf/tensor_recipe.h"

#include <algorithm>
#include <cstring>

#include "tensor/dequantize.h"
#include "to_gguf/transposed_rows.h"

namespace modelutils::to_gguf {

namespace {

// Looks at the scales of all parts, and at the codes where they may matter.
Result<Target> look_and_choose(const HfModel& model, const MappedTensor& tensor, const SourceMatrix& matrix,
                               const RepackOptions& options) {
  const Carrier& carrier = carrier_of(matrix.form);
  ScaleAnalysis analysis;
  MU_TRY(analyse_tensor(model, tensor, false, analysis));
  Result<Target> target = carrier.choose(matrix.form, matrix.columns, analysis, options, false);
  if (!carrier.wants_codes(matrix.form, analysis, target, options)) return target;
  analysis = {};
  MU_TRY(analyse_tensor(model, tensor, true, analysis));
  return carrier.choose(matrix.form, matrix.columns, analysis, options, false);
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
  recipe.form = text_with_scales(matrix.form);
  if (tensor.has_computed_rows()) {
    const StoredForm rows = plain_form(values_type(matrix));
    MU_ASSIGN(recipe.target, carrier_of(rows).choose(rows, tensor.columns(), {}, options,
                                                     tensor.must_be_f32 || matrix.is_quantized()));
    recipe.type = recipe.target.type;
    if (matrix.is_quantized()) {
      recipe.reason = tensor.is_transposed ? "transposed, so its quantised blocks cannot be kept"
                                           : "multiplied by a setting of the model";
    }
    if (!tensor.column_lengths.empty()) {
      recipe.measured = false;  // there are no exact values to compare with
      recipe.reason = "columns divided by their lengths";
    }
    return recipe;
  }
  const Carrier& carrier = carrier_of(matrix.form);
  const ScaleUse use = tensor.must_be_f32 ? ScaleUse::nothing : carrier.scale_use(matrix.form, matrix.columns, options);
  const bool is_chosen = use == ScaleUse::nothing && (tensor.must_be_f32 || !matrix.is_quantized());
  const bool may_skip = is_chosen || (look == Look::size && !options.exact && use != ScaleUse::size);
  Result<Target> target = may_skip ? carrier.choose(matrix.form, matrix.columns, {}, options, tensor.must_be_f32)
                                   : look_and_choose(model, tensor, matrix, options);
  if (!target) {
    if (target.error().where.empty()) target.error().where = at_tensor(tensor.name);
    return tl::make_unexpected(in_file(std::move(target.error()), model.directory));
  }
  recipe.target = std::move(*target);
  recipe.type = recipe.target.type;
  recipe.exact = recipe.target.exact;
  recipe.measured = !may_skip || use == ScaleUse::nothing;
  if (recipe.measured) {
    recipe.reason = tensor.f32_because.empty() ? recipe.target.reason : std::string(tensor.f32_because);
  }
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
  const StoredForm form = tensor.has_computed_rows() ? plain_form(values_type(matrix)) : matrix.form;
  carry_rows(form, tensor.columns(), recipe.target, planes_of(scratch), out, error);
  return {};
}

}  // namespace modelutils::to_gguf

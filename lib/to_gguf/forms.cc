#include "to_gguf/forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "arch/loader_forms.h"
#include "tensor/dequantize.h"
#include "tensor/narrow.h"
#include "to_gguf/transposed_rows.h"
#include "transfer/encoders.h"
#include "transfer/value_sums.h"

namespace modelutils::to_gguf {

namespace {

// Analyses the scales of all parts, and the codes too if the choice may depend on them.
Result<Target> look_and_choose(const HfModel& model, const MappedTensor& tensor, const SourceMatrix& matrix,
                               const RepackOptions& options) {
  const Carrier& carrier = carrier_of(matrix.form);
  ScaleAnalysis analysis;
  MU_TRY(analyse_tensor(model, tensor, false, analysis));
  Result<Target> target = carrier.choose(matrix.form, matrix.columns, analysis, options, false);
  if (!carrier.wants_codes(matrix.form, analysis, target, options)) return target;
  analysis = analysis.for_codes();
  MU_TRY(analyse_tensor(model, tensor, true, analysis));
  return carrier.choose(matrix.form, matrix.columns, analysis, options, false);
}

// True if the tensor has one factor, or one per expert, that llama.cpp can read as a separate tensor beside the type
// the form is stored as. llama.cpp aborts if the matrix also has a bias.
bool may_scale(const HfModel& model, const MappedTensor& tensor, const SourceMatrix& matrix) {
  const TensorType type = matrix.form.kind == FormKind::nvfp4 ? TensorType::NVFP4 : TensorType::BF16;
  const bool is_known = arch::takes_factor(tensor.name, type);
  const bool is_stack = tensor.ne.size() == 3 && tensor.parts.size() == tensor.ne[2];
  if (!is_known || tensor.has_computed_rows() || tensor.is_whole) return false;
  if (!is_stack && tensor.parts.size() != 1) return false;
  const std::string bias = matrix.name.substr(0, matrix.name.rfind('.')) + ".bias";
  return std::ranges::none_of(model.matrices, [&](const SourceMatrix& other) { return other.name == bias; });
}

// Returns the type of merged weights. They are computed values: plain bases keep their type, quantised ones use the
// fallback. F32 as the fallback asks for an exact result, so it applies to both.
TensorType merged_type(const MappedTensor& tensor, const SourceMatrix& matrix, TensorType fallback) {
  if (tensor.must_be_f32 || fallback == TensorType::F32) return TensorType::F32;
  const TensorType type = matrix.is_quantized() ? fallback : matrix.form.type();
  const bool fills_blocks = tensor.columns() % type_info(type).block_elements == 0;
  return fills_blocks && encoder_of(type) != nullptr ? type : TensorType::F32;
}

Result<GgufForm> merged_form(const MappedTensor& tensor, const SourceMatrix& matrix, const RepackOptions& options,
                             GgufForm form) {
  const TensorType type = merged_type(tensor, matrix, options.fallback);
  form.target = {type, Carry::encode, true, {}, false, false};
  form.type = form.target.type;
  form.exact = form.target.exact = form.type == TensorType::F32;
  form.reason = "merged with " + tensor.merge->text();
  if (form.exact || !options.exact) return form;
  return input_error(
      "convert-inexact",
      fmt::format("merged with {}, the sum is rounded to {}", tensor.merge->text(), type_name(form.type)),
      at_tensor(tensor.name));
}

tl::unexpected<Error> not_finite(const HfModel& model, const MappedTensor& tensor) {
  return input_error("adapter-not-finite",
                     fmt::format("merged with {}, has a value that is NaN or infinite", tensor.merge->text()),
                     at_tensor(tensor.name), {}, model.directory);
}

}  // namespace

Result<GgufForm> choose_form(const HfModel& model, const MappedTensor& tensor, const RepackOptions& wanted, Look look) {
  GgufForm form;
  if (tensor.parts.empty()) {
    form.source = form.source_form = "generated";
    return form;
  }
  const SourceMatrix& matrix = model.matrices[tensor.parts.front().source];
  form.source = matrix.name;
  form.source_form = text_with_scales(matrix.form);
  if (tensor.merge != nullptr && !tensor.is_whole) return merged_form(tensor, matrix, wanted, std::move(form));
  if (tensor.has_computed_rows()) {
    const StoredForm rows = plain_form(computed_type(model, tensor));
    MU_ASSIGN(form.target,
              carrier_of(rows).choose(rows, tensor.columns(), {}, wanted, tensor.must_be_f32 || matrix.is_quantized()));
    form.type = form.target.type;
    if (matrix.is_quantized()) {
      form.reason = tensor.is_transposed ? "transposed, so its quantised blocks cannot be kept"
                                         : "multiplied by a setting of the model";
    }
    if (!tensor.column_lengths.empty()) {
      form.measured = false;  // there are no exact values to compare with
      form.reason = "columns divided by their lengths";
    }
    return form;
  }
  RepackOptions options = wanted;
  options.may_scale = model.family->applies_weight_scales && may_scale(model, tensor, matrix);
  const Carrier& carrier = carrier_of(matrix.form);
  const ScaleUse use = tensor.must_be_f32 ? ScaleUse::nothing : carrier.scale_use(matrix.form, matrix.columns, options);
  const bool is_chosen = use == ScaleUse::nothing && (tensor.must_be_f32 || !matrix.is_quantized());
  const bool may_skip = is_chosen || (look == Look::size && !options.exact && use != ScaleUse::size);
  Result<Target> target = may_skip ? carrier.choose(matrix.form, matrix.columns, {}, options, tensor.must_be_f32)
                                   : look_and_choose(model, tensor, matrix, options);
  if (!target) {
    const bool is_of_source = target.error().code != "convert-inexact";
    if (target.error().where.empty()) target.error().where = at_tensor(is_of_source ? matrix.name : tensor.name);
    return tl::make_unexpected(in_file(std::move(target.error()), model.directory));
  }
  form.target = std::move(*target);
  form.type = form.target.type;
  form.exact = form.target.exact;
  form.measured = !may_skip || use == ScaleUse::nothing;
  if (form.measured) {
    form.reason = tensor.f32_because.empty() ? form.target.reason : std::string(tensor.f32_because);
  }
  return form;
}

Status encode_rows(const HfModel& model, const MappedTensor& tensor, const GgufForm& form, u64 first, u64 count,
                   MutableBytes out, StoredRows& scratch, ValueSums* error) {
  if (tensor.is_whole) {
    MU_ASSIGN(const std::vector<float> values, read_whole(model, tensor));
    if (tensor.merge != nullptr && !narrow_facts(values).finite) return not_finite(model, tensor);
    std::memcpy(out.data(), values.data(), out.size());
    return {};
  }
  const std::size_t row_bytes = count == 0 ? 0 : out.size() / count;
  if (tensor.merge != nullptr) {
    bool is_finite = true;
    MU_TRY(read_merged_rows(model, tensor, first, count, scratch, [&](u64 row, std::span<const float> values) {
      const std::size_t rows = values.size() / std::max<u64>(tensor.columns(), 1);
      is_finite = is_finite && narrow_facts(values).finite;
      carry_rows(plain_form(TensorType::F32), tensor.columns(), form.target, {std::as_bytes(values)},
                 out.subspan(row * row_bytes, rows * row_bytes), error);
    }));
    return is_finite ? Status() : not_finite(model, tensor);
  }
  const SourceMatrix& matrix = model.matrices[tensor.parts.front().source];
  const StoredForm stored = tensor.has_computed_rows() ? plain_form(computed_type(model, tensor)) : matrix.form;
  return for_stored_rows(model, tensor, first, count, scratch, [&](u64 row, u64 rows) {
    carry_rows(stored, tensor.columns(), form.target, planes_of(scratch),
               out.subspan(row * row_bytes, rows * row_bytes), error);
  });
}

}  // namespace modelutils::to_gguf

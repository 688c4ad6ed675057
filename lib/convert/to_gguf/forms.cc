#include "convert/to_gguf/forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "arch/loader_forms.h"
#include "convert/to_gguf/rows.h"
#include "convert/transfer/carriers.h"
#include "convert/transfer/encoders.h"
#include "formats/hf/config.h"
#include "tensor/dequantize.h"
#include "tensor/narrow.h"
#include "tensor/value_sums.h"

namespace modelutils {

Status analyse_tensor(const HfModel& model, const MappedTensor& tensor, bool with_codes, ScaleAnalysis& analysis) {
  const StoredForm& form = model.matrices[tensor.parts.front().source].form;
  for (const RecipePart& part : tensor.parts) {
    const Weight& matrix = model.matrices[part.source];
    AnalysedRows rows;
    for (std::size_t i = with_codes ? 0 : 1; i < max_planes; ++i) {
      rows.planes[i] = model.plane(*matrix.planes[i]);
      rows.layouts[i] = layout_of(matrix, i, part.from.source_rows);
    }
    MU_TRY(part.from.for_each_range([&](u64 first, u64 count) -> Status {
      return analyse_rows(form, matrix.columns(), rows, first, count, analysis);
    }));
  }
  return {};
}

namespace {

// Reads runs of consecutive elements from the rows of one matrix.
class StripReader {
 public:
  StripReader(const HfModel& model, const Weight& matrix)
      : matrix_(model.model->stored(matrix)), size_(type_info(values_type(matrix)).block_bytes) {}

  u64 element_bytes() const { return size_; }

  /// Reads elements [first, first + count) of the matrix.
  Status read(u64 first, u64 count, MutableBytes out) {
    if (matrix_.form.is_plain()) {
      return matrix_.planes[0].file->read_exact(matrix_.planes[0].offset + first * size_, out);
    }
    while (count > 0) {
      const u64 column = first % matrix_.columns;
      const u64 here = std::min(count, matrix_.columns - column);
      MU_TRY(read_row(first / matrix_.columns));
      std::memcpy(out.data(), values_.data() + column, here * size_);
      out = out.subspan(here * size_);
      first += here;
      count -= here;
    }
    return {};
  }

 private:
  Status read_row(u64 row) {
    if (row == row_) return {};
    row_ = row;
    MU_TRY(read_rows(matrix_, row, 1, stored_));
    values_.resize(matrix_.columns);
    form_info(matrix_.form).decode(matrix_.form, matrix_.columns, planes_of(stored_), values_);
    return {};
  }

  const StoredMatrix matrix_;
  u64 size_;
  StoredRows stored_;
  std::vector<float> values_;  // of the row read last
  u64 row_ = ~u64{0};
};

// Reads rows [first, first + count) of one part.
Status read_part(const HfModel& model, const RecipePart& part, u64 columns, u64 first, u64 count, MutableBytes out) {
  StripReader reader(model, model.matrices[part.source]);
  const u64 size = reader.element_bytes();
  const u64 most = rows_of_strips(part.from, columns);
  std::vector<std::byte> strip;
  for (u64 row = first; row < first + count;) {
    const u64 length = std::min(most - row % most, first + count - row);
    strip.resize(length * size);
    for (u64 column = 0; column < columns; ++column) {
      MU_TRY(reader.read(part.from.source_row(row * columns + column), length, strip));
      for (u64 i = 0; i < length; ++i) {
        std::memcpy(out.data() + ((row - first + i) * columns + column) * size, strip.data() + i * size, size);
      }
    }
    row += length;
  }
  return {};
}

}  // namespace

// Possible if the axis before those that form a row has stride 1.
u64 rows_of_strips(const arch::RowView& view, u64 columns) {
  u64 product = 1;
  std::size_t axis = view.axes.size();
  while (axis > 0 && product < columns) product *= view.axes[--axis].count;
  const bool has_strips = product == columns && axis > 0 && view.axes[axis - 1].is_run();
  return has_strips ? view.axes[axis - 1].count : 1;
}

TensorType values_type(const Weight& matrix) {
  return matrix.is_quantized() ? TensorType::F32 : matrix.form.type();
}

Status read_transposed_rows(const HfModel& model, const MappedTensor& tensor, u64 first, u64 count, StoredRows& out) {
  const u64 row_bytes =
      tensor.columns() * type_info(values_type(model.matrices[tensor.parts.front().source])).block_bytes;
  out.values().resize(count * row_bytes);
  for (const RecipePart& part : tensor.parts) {
    const u64 begin = part.to.base / tensor.columns();
    const u64 from = std::max(first, begin);
    const u64 to = std::min(first + count, begin + part.units() / tensor.columns());
    if (from >= to) continue;
    MU_TRY(read_part(model, part, tensor.columns(), from - begin, to - from,
                     MutableBytes(out.values()).subspan((from - first) * row_bytes, (to - from) * row_bytes)));
  }
  return {};
}

}  // namespace modelutils

namespace modelutils::to_gguf {

namespace {

// Analyses the scales of all parts, and the codes too if the choice may depend on them.
Result<Target> look_and_choose(const HfModel& model, const MappedTensor& tensor, const Weight& matrix,
                               const RepackOptions& options) {
  const Carrier& carrier = carrier_of(matrix.form);
  ScaleAnalysis analysis;
  MU_TRY(analyse_tensor(model, tensor, false, analysis));
  Result<Target> target = carrier.choose(matrix.form, matrix.columns(), analysis, options, false);
  if (!carrier.wants_codes(matrix.form, analysis, target, options)) return target;
  analysis = analysis.for_codes();
  MU_TRY(analyse_tensor(model, tensor, true, analysis));
  return carrier.choose(matrix.form, matrix.columns(), analysis, options, false);
}

// True if the tensor has one factor, or one per expert, that llama.cpp can read as a separate tensor beside the type
// the form is stored as. llama.cpp aborts if the matrix also has a bias.
bool may_scale(const HfModel& model, const MappedTensor& tensor, const Weight& matrix) {
  const TensorType type = matrix.form.kind == FormKind::nvfp4 ? TensorType::NVFP4 : TensorType::BF16;
  const bool is_known = arch::takes_factor(tensor.name, type);
  const bool is_stack = tensor.ne.size() == 3 && tensor.parts.size() == tensor.ne[2];
  if (!is_known || tensor.has_computed_rows() || tensor.is_whole) return false;
  if (!is_stack && tensor.parts.size() != 1) return false;
  const std::string bias = matrix.name.substr(0, matrix.name.rfind('.')) + ".bias";
  return std::ranges::none_of(model.matrices, [&](const Weight& other) { return other.name == bias; });
}

// Returns the type of merged weights. They are computed values: plain bases keep their type, quantised ones use the
// fallback. F32 as the fallback asks for an exact result, so it applies to both.
TensorType merged_type(const MappedTensor& tensor, const Weight& matrix, TensorType fallback) {
  if (tensor.must_be_f32 || fallback == TensorType::F32) return TensorType::F32;
  const TensorType type = matrix.is_quantized() ? fallback : matrix.form.type();
  const bool fills_blocks = tensor.columns() % type_info(type).block_elements == 0;
  return fills_blocks && encoder_of(type) != nullptr ? type : TensorType::F32;
}

Result<GgufForm> merged_form(const MappedTensor& tensor, const Weight& matrix, const RepackOptions& options,
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

// Encodes the values as the type that the tensor states.
GgufForm stated_form(const HfModel& model, const MappedTensor& tensor, const Weight& matrix, GgufForm form) {
  const StoredForm rows = tensor.has_computed_rows() ? plain_form(computed_type(model, tensor)) : matrix.form;
  const bool is_same = rows.is_plain() && rows.type() == *tensor.type;
  form.type = *tensor.type;
  const bool is_f8 = rows.is_plain() && (rows.type() == TensorType::F8_E4M3 || rows.type() == TensorType::F8_E5M2);
  form.exact = is_same || form.type == TensorType::F32 || (is_f8 && form.type == TensorType::F16);
  form.target = {form.type, is_same ? Carry::copy : Carry::encode, form.exact, {}, false, false};
  return form;
}

// Writes numbers of experts as I32. llama.cpp reads the expert's matrix without checking the number.
Status encode_experts(const HfModel& model, const MappedTensor& tensor, std::span<const float> values,
                      MutableBytes out) {
  const u64 experts = model.config.count_field(hf::fields::experts).value_or(0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    if (!(value >= 0) || value >= static_cast<float>(experts) || value != std::floor(value)) {
      return input_error("convert-experts",
                         fmt::format("has the expert {} in '{}', but a layer has {} experts", value,
                                     model.matrices[tensor.parts.front().source].name, experts),
                         at_tensor(tensor.name), {}, model.directory);
    }
    const auto number = static_cast<i32>(value);
    std::memcpy(out.data() + i * sizeof number, &number, sizeof number);
  }
  return {};
}

// F16 has no finite number above 65504.
Status check_halves(const HfModel& model, const MappedTensor& tensor, Bytes halves) {
  constexpr unsigned exponent = 0x7C;  // second byte of infinity and NaN
  for (std::size_t i = 1; i < halves.size(); i += 2) {
    if ((static_cast<unsigned>(halves[i]) & exponent) != exponent) continue;
    return input_error("convert-overflow",
                       fmt::format("has a value above 65504, which F16 cannot hold, in '{}'; choose --type bf16 or f32",
                                   model.matrices[tensor.parts.front().source].name),
                       at_tensor(tensor.name), {}, model.directory);
  }
  return {};
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
  const Weight& matrix = model.matrices[tensor.parts.front().source];
  form.source = matrix.name;
  form.source_form = text_with_scales(matrix.form);
  if (tensor.is_of_experts) {
    form.type = form.target.type = TensorType::I32;
    form.exact = form.target.exact = true;
    return form;
  }
  if (tensor.merge != nullptr && !tensor.is_whole) return merged_form(tensor, matrix, wanted, std::move(form));
  if (tensor.type && !tensor.is_whole) return stated_form(model, tensor, matrix, std::move(form));
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
    if (tensor.has_unit_rows) {
      form.measured = false;
      form.reason = "rows divided by their lengths";
    }
    return form;
  }
  RepackOptions options = wanted;
  options.may_scale = model.family->applies_weight_scales && may_scale(model, tensor, matrix);
  const Carrier& carrier = carrier_of(matrix.form);
  const ScaleUse use =
      tensor.must_be_f32 ? ScaleUse::nothing : carrier.scale_use(matrix.form, matrix.columns(), options);
  const bool is_chosen = use == ScaleUse::nothing && (tensor.must_be_f32 || !matrix.is_quantized());
  const bool may_skip = is_chosen || (look == Look::size && !options.exact && use != ScaleUse::size);
  Result<Target> target = may_skip ? carrier.choose(matrix.form, matrix.columns(), {}, options, tensor.must_be_f32)
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
    if (tensor.is_of_experts) return encode_experts(model, tensor, values, out);
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
  const Weight& matrix = model.matrices[tensor.parts.front().source];
  const StoredForm stored = tensor.has_computed_rows() ? plain_form(computed_type(model, tensor)) : matrix.form;
  MU_TRY(for_stored_rows(model, tensor, first, count, scratch, [&](u64 row, u64 rows) {
    carry_rows(stored, tensor.columns(), form.target, planes_of(scratch),
               out.subspan(row * row_bytes, rows * row_bytes), error,
               {.importance = {}, .as_ggml = tensor.type.has_value()});
  }));
  const bool may_overflow = tensor.type == TensorType::F16 && form.target.carry == Carry::encode;
  return may_overflow ? check_halves(model, tensor, out) : Status();
}

}  // namespace modelutils::to_gguf

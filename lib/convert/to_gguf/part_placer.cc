#include "convert/to_gguf/part_placer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/parse_number.h"
#include "base/text.h"
#include "base/types.h"
#include "convert/to_gguf/forms.h"
#include "convert/to_gguf/rows.h"
#include "model/catalog.h"
#include "tensor/types.h"

namespace modelutils {

u64 MappedTensor::rows() const {
  u64 product = 1;
  for (std::size_t d = 1; d < ne.size(); ++d) product *= ne[d];
  return product;
}

std::optional<std::vector<u64>> stored_shape(const arch::Tensor& row, const arch::Sizes& sizes, u64 layer) {
  std::optional<std::vector<u64>> shape;
  for_each_name(row.stored, [&](std::string_view text) {
    const std::string_view condition = arch::take_condition(text);
    if (!shape && arch::holds(condition, sizes, layer)) shape = arch::evaluate_shape(arch::trimmed(text), sizes, layer);
  });
  return shape;
}

namespace {

std::vector<u64> without_ones(std::vector<u64> shape) {
  std::erase(shape, u64{1});
  return shape;
}

// Element-wise operations only occur on small tensors, so read them whole. Factors and column norms also apply to
// matrices.
void set_operation(const arch::SourcePart& part, MappedTensor& tensor) {
  if (part.operation == arch::Operation::none || part.operation == arch::Operation::times) return;
  if (part.operation == arch::Operation::unit_columns || part.operation == arch::Operation::unit_rows) return;
  if (tensor.operation == arch::Operation::none) {
    tensor.operation = part.operation;
    number_from_chars(part.operand.data(), part.operand.data() + part.operand.size(), tensor.operand);
  }
  tensor.is_whole = tensor.must_be_f32 = true;
  tensor.unit = 1;
}

// Splits stored rows into pieces if the view moves whole runs of columns; for quantised rows, every piece must be
// made of whole groups. Otherwise picks single elements.
void pick_elements(const Weight& matrix, MappedTensor& tensor, arch::RowView& view) {
  const u64 length = view.axes.back().count;
  std::optional<arch::RowView> runs = view.of_runs(matrix.columns());
  const bool has_pieces = matrix.form.is_plain() || matrix.form.kind == FormKind::mlx;
  if (has_pieces && runs && tensor.columns() % length == 0 &&
      length % form_info(matrix.form).unit(matrix.form, matrix.columns()) == 0) {
    tensor.unit = length;
    view = std::move(*runs);
    return;
  }
  // Elements that lie close together are gathered from the range that holds them; others are picked from strips.
  constexpr u64 close = u64{1} << 16;
  const bool is_close =
      matrix.form.is_plain() && rows_of_strips(view, tensor.columns()) == 1 && view.dense_rows() <= close;
  tensor.is_transposed = !is_close;
  tensor.unit = 1;
}

// Returns the number of rows of ne0 elements. Convolutions have a trailing dimension of 1, or a kernel of one pixel.
u64 rows_of(const Weight& matrix, const MappedTensor& tensor) {
  const u64 columns = tensor.columns();
  if (matrix.columns() == columns || matrix.is_quantized() || columns == 0) return matrix.rows();
  const u64 elements = matrix.rows() * matrix.columns();  // cannot overflow: the byte count fits
  return (matrix.columns() == 1 || columns == 1) && elements % columns == 0 ? elements / columns : matrix.rows();
}

bool same_storage(const Weight& a, const Weight& b) {
  return a.ne == b.ne && a.form == b.form;
}

}  // namespace

// True if the source is a vector. If the tensor is a matrix, its elements are reordered instead of its rows.
bool PartPlacer::is_vector(const std::vector<const PartMatrices*>& parts) const {
  const Weight& matrix = model_.matrices[parts.front()->begin()->second];
  return !matrix.is_quantized() && without_ones(matrix.ne).size() <= 1;
}

Result<MappedTensor> PartPlacer::make(const arch::ExpectedTensor& expected, const arch::SourceAlternative& alternative,
                                      const std::vector<const PartMatrices*>& parts, const arch::Sizes& sizes) const {
  MappedTensor tensor;
  tensor.name = expected.name;
  tensor.must_be_f32 = expected.must_be_f32;
  tensor.ne = expected.ne;
  if (expected.ne.empty()) {
    return fail_at(expected, "convert-config", "has a shape that cannot be derived");
  }
  tensor.is_of_experts = expected.row->is_of_experts;
  tensor.is_whole =
      expected.ne.size() == 1 || expected.side == arch::Side::bias || tensor.is_of_experts || is_vector(parts);
  if (tensor.is_whole) {
    tensor.must_be_f32 = true;
  } else {
    tensor.unit = std::max<u64>(tensor.columns(), 1);
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    MU_TRY(add_part(expected, alternative.parts[i], parts.size() == 1, *parts[i], sizes, tensor));
  }
  MU_TRY(check_rows(expected, tensor));
  if (!tensor.is_whole && alternative.parts.front().operation == arch::Operation::unit_columns) {
    MU_ASSIGN(tensor.column_lengths, column_lengths(model_, tensor));
    tensor.is_scaled = true;
  }
  if (!tensor.is_whole && alternative.parts.front().operation == arch::Operation::unit_rows) {
    tensor.has_unit_rows = tensor.is_scaled = true;
  }
  return tensor;
}

Status PartPlacer::add_part(const arch::ExpectedTensor& expected, const arch::SourcePart& part, bool is_alone,
                            const PartMatrices& matrices, const arch::Sizes& sizes, MappedTensor& tensor) const {
  const Weight& first = model_.matrices[matrices.begin()->second];
  // Operations apply to weights; a norm's bias stays unchanged.
  if (expected.side == arch::Side::weight) set_operation(part, tensor);
  const bool is_scaled = part.operation == arch::Operation::times && family_.factor != nullptr;
  const auto factor = static_cast<float>(is_scaled ? family_.factor(model_.config, part.operand) : 1.0);
  u64 next = 0;
  for (const auto& [number, index] : matrices) {
    const Weight& matrix = model_.matrices[index];
    if (number != next++) return fail_at(expected, "convert-experts", fmt::format("lacks expert {}", next - 1));
    if (!same_storage(matrix, first)) {
      return fail("convert-experts", at_tensor(matrix.name),
                  "differs in shape or type from the first expert, but one GGUF tensor must hold them all");
    }
    const std::optional<u64> elements = checked_mul(matrix.rows(), matrix.columns());
    const bool by_element = tensor.is_whole || part.is_of_elements;
    const u64 units = by_element ? elements.value_or(0) : rows_of(matrix, tensor);
    const bool is_as_stored = part.view.empty() || (part.is_of_elements && expected.side == arch::Side::bias);
    std::optional<arch::RowView> view =
        is_as_stored ? arch::whole_view(units) : arch::resolve_view(part.view, sizes, expected.layer);
    if (!view || view->source_rows != units) return wrong_shape(expected, matrix);
    if (!expected.row->plain.empty() && matrix.is_quantized() && !tensor.must_be_f32) {
      tensor.must_be_f32 = true;
      tensor.f32_because = expected.row->plain;
    }
    if (!is_as_stored && part.is_of_elements && !tensor.is_whole) pick_elements(matrix, tensor, *view);
    RecipePart made{index, std::move(*view), {}};
    u64 first_unit = 0;
    if (!tensor.parts.empty() && !part.multiplies)
      first_unit = tensor.parts.back().to.base + tensor.parts.back().units();
    if (part.multiplies) {
      tensor.is_product = true;
      if (!tensor.is_whole || made.units() != tensor.parts.front().units()) return wrong_shape(expected, matrix);
    }
    made.to = arch::run_of_rows(first_unit, made.units(), tensor.units());
    if (factor != 1) made.factors = {factor};
    tensor.parts.push_back(std::move(made));
  }
  tensor.is_scaled = tensor.is_scaled || factor != 1;
  return part.view.empty() && is_alone
             ? check_shape(expected, first, part.is_stacked() ? std::optional(next) : std::nullopt, sizes)
             : Status{};
}

tl::unexpected<Error> PartPlacer::wrong_shape(const arch::ExpectedTensor& expected, const Weight& matrix,
                                              std::optional<u64> stacked) const {
  std::vector<u64> ne = matrix.ne;
  if (stacked) ne.push_back(*stacked);
  return fail_at(
      expected, "convert-shape",
      fmt::format("would have shape {}, but the hyper-parameters imply {}", shape_text(ne), shape_text(expected.ne)));
}

Status PartPlacer::check_shape(const arch::ExpectedTensor& expected, const Weight& matrix, std::optional<u64> stacked,
                               const arch::Sizes& sizes) const {
  std::vector<u64> ne = matrix.ne;
  if (stacked) ne.push_back(*stacked);
  if (stored_shape(*expected.row, sizes, expected.layer) == reversed(ne)) return {};
  // Routers with one expert are stored as [1, n], convolutions as [n, 1, k] or [n, k, 1].
  if (ne == expected.ne || (!matrix.is_quantized() && without_ones(ne) == without_ones(expected.ne))) return {};
  while (ne.size() > expected.ne.size() && ne.back() == 1) ne.pop_back();
  return ne == expected.ne ? Status{} : wrong_shape(expected, matrix, stacked);
}

// Checks that the parts together have the expected rows and are all stored in the same form.
Status PartPlacer::check_rows(const arch::ExpectedTensor& expected, const MappedTensor& tensor) const {
  const Weight& first = model_.matrices[tensor.parts.front().source];
  u64 units = 0;
  for (const RecipePart& part : tensor.parts) {
    if (tensor.is_product && units > 0) break;  // the others have the same units
    const Weight& matrix = model_.matrices[part.source];
    units = checked_add(units, part.units()).value_or(0);
    if (tensor.is_whole) continue;
    if (tensor.is_transposed && part.units() % tensor.columns() != 0) return wrong_shape(expected, matrix);
    const bool reshaped = rows_of(matrix, tensor) != matrix.rows();
    if (!tensor.is_transposed && !reshaped && tensor.pieces() == 1 && matrix.columns() != tensor.columns())
      return wrong_shape(expected, matrix);
    if (matrix.form != first.form) {
      return fail("convert-experts", at_tensor(matrix.name),
                  "does not have the type of the tensor it is joined with, but one GGUF tensor must hold both");
    }
  }
  return units == tensor.units() ? Status{} : tl::make_unexpected(wrong_shape(expected, first).value());
}

}  // namespace modelutils

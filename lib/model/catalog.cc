#include "model/catalog.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/name_index.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/bump/bump5_layout.h"
#include "formats/bump/document.h"
#include "formats/gguf/split_set.h"
#include "formats/imatrix/importance.h"
#include "formats/safetensors/shard_set.h"
#include "model/forms/modules.h"

namespace modelutils {

namespace {

std::vector<u64> ne_of(const bump::Shape& shape) {
  return shape.rows == 1 ? std::vector<u64>{shape.columns} : std::vector<u64>{shape.columns, shape.rows};
}

Catalog catalog_of_file(Format format, std::shared_ptr<ByteSource> source) {
  Catalog catalog;
  catalog.format = format;
  const std::string path = source->name();
  catalog.files.push_back({path, base_name_of(path), std::move(source)});
  return catalog;
}

void add_entry(Catalog& catalog, std::string name, std::optional<TensorType> type, const bump::Shape& shape, u64 offset,
               u64 bytes) {
  Tensor& tensor = catalog.add(std::move(name), ne_of(shape));
  tensor.type = type;
  tensor.offset = offset;
  tensor.bytes = bytes;
  if (!fits(offset, bytes, catalog.files.front().source->size().value_or(0))) {
    tensor.unreadable = Unreadable::outside_file;
  }
}

}  // namespace

std::string_view problem_text(Unreadable unreadable) {
  switch (unreadable) {
    case Unreadable::no: return "";
    case Unreadable::unknown_size: return "the tensor's type or size is not known";
    case Unreadable::outside_file: return "the tensor's data is not in the file";
    case Unreadable::other_size: return "the tensor's range does not fit its dtype and shape";
    case Unreadable::repeated_name: break;
  }
  return "the name appears twice in the model: this is not the first";
}

Tensor& Catalog::add(std::string name, std::vector<u64> ne) {
  Tensor& tensor = tensors.emplace_back();
  tensor.name = kept->keep(std::move(name));
  tensor.ne = kept->keep(std::move(ne));
  return tensor;
}

std::size_t Catalog::readable() const {
  return static_cast<std::size_t>(std::ranges::count(tensors, Unreadable::no, &Tensor::unreadable));
}

const Tensor* Catalog::find(std::string_view name) const {
  const auto found = std::ranges::find_if(
      tensors, [name](const Tensor& tensor) { return tensor.name == name && tensor.is_readable(); });
  return found == tensors.end() ? nullptr : &*found;
}

Status Catalog::read(const Tensor& tensor, u64 first, MutableBytes out) const {
  return files[tensor.file].source->read_exact(tensor.offset + first, out);
}

namespace {

StoredForm form_of_type(std::optional<TensorType> type, bool big_endian) {
  StoredForm form = type ? plain_form(*type) : opaque_form();
  form.big_endian = big_endian;
  return form;
}

}  // namespace

MatrixValues stored_values(const Tensor& tensor, const ByteSource& file, std::string_view path, bool big_endian) {
  StoredMatrix matrix;
  matrix.form = form_of_type(tensor.type, big_endian);
  matrix.elements = tensor.type ? checked_product(tensor.ne).value_or(0) : tensor.bytes;
  matrix.columns = tensor.ne.empty() ? 1 : tensor.ne.front();
  matrix.planes[0] = {&file, tensor.offset};
  return MatrixValues(matrix, tensor.name, path);
}

StoredForm Catalog::form_of(const Tensor& tensor) const {
  return form_of_type(tensor.type, big_endian);
}

StoredPlane Catalog::plane_of(const Tensor& tensor) const {
  return {files[tensor.file].source.get(), tensor.offset};
}

MatrixValues Catalog::values_of(const Tensor& tensor) const {
  const CatalogFile& file = files[tensor.file];
  return stored_values(tensor, *file.source, file.path, big_endian);
}

Tensor tensor_of(const gguf::Document& document, const gguf::TensorInfo& info) {
  Tensor tensor{.name = info.name, .type = info.type(), .ne = info.ne, .record = info.info_offset};
  const std::optional<u64> bytes = info.bytes();
  const std::optional<u64> offset = document.complete ? checked_add(document.data_offset, info.offset) : std::nullopt;
  tensor.offset = offset.value_or(Tensor::nowhere);
  tensor.bytes = bytes.value_or(0);
  const u64 file_size = document.file_size.value_or(std::numeric_limits<u64>::max());
  if (!bytes) {
    tensor.unreadable = Unreadable::unknown_size;
  } else if (!offset || !fits(*offset, *bytes, file_size)) {
    tensor.unreadable = Unreadable::outside_file;
  }
  return tensor;
}

Catalog catalog_of(const gguf::SplitSet& set) {
  Catalog catalog;
  std::size_t count = 0;
  for (const gguf::SetFile& file : set.files) count += file.document.tensors.size();
  reserve_to_fill(catalog.tensors, count);
  for (const gguf::SetFile& file : set.files) {
    const auto number = static_cast<u32>(catalog.files.size());
    catalog.files.push_back({file.path, base_name_of(file.path), file.source});
    catalog.big_endian = catalog.big_endian || file.document.big_endian;
    for (const gguf::TensorInfo& info : file.document.tensors) {
      catalog.tensors.push_back(tensor_of(file.document, info));
      catalog.tensors.back().file = number;
    }
  }
  return catalog;
}

Unreadable readability_of(const safetensors::Document& document, const safetensors::Tensor& tensor) {
  if (!document.holds(tensor)) return Unreadable::outside_file;
  const bool is_of_its_size = !tensor.type || tensor.expected_bytes() == tensor.bytes();
  return is_of_its_size ? Unreadable::no : Unreadable::other_size;
}

Catalog catalog_of(const safetensors::ShardSet& set) {
  Catalog catalog;
  catalog.format = Format::safetensors;
  for (const safetensors::ShardFile& file : set.files) {
    catalog.files.push_back({file.path, file.base_name, file.source});
  }
  std::size_t dimensions = 0;
  for (std::size_t i = 0; i < set.listed_count(); ++i) dimensions += set.tensor(set.listed(i)).shape.size();
  std::vector<u64> ne;
  reserve_to_fill(ne, dimensions);
  for (std::size_t i = 0; i < set.listed_count(); ++i) {
    const std::span<const u64> shape = set.tensor(set.listed(i)).shape;
    ne.insert(ne.end(), shape.rbegin(), shape.rend());
  }
  std::span<const u64> left = catalog.kept->keep(std::move(ne));
  reserve_to_fill(catalog.tensors, set.listed_count());
  for (std::size_t i = 0; i < set.listed_count(); ++i) {
    const safetensors::TensorRef ref = set.listed(i);
    const safetensors::Document& document = set.file(ref).document;
    const safetensors::Tensor& entry = set.tensor(ref);
    Tensor& tensor = catalog.tensors.emplace_back();
    tensor.name = entry.name;
    tensor.type = entry.type;
    tensor.unreadable = i < set.tensors.size() ? readability_of(document, entry) : Unreadable::repeated_name;
    tensor.file = ref.file;
    tensor.ne = left.first(entry.shape.size());
    left = left.subspan(entry.shape.size());
    tensor.offset = checked_add(document.data_offset, entry.begin).value_or(Tensor::nowhere);
    tensor.bytes = entry.bytes();
    tensor.record = entry.entry_offset;
  }
  return catalog;
}

Catalog catalog_of(std::shared_ptr<ByteSource> source, std::span<const bump::Entry> entries,
                   const bump::Dimensions& dimensions) {
  Catalog catalog = catalog_of_file(Format::bump, std::move(source));
  for (const bump::Entry& entry : entries) {
    add_entry(catalog, entry.name(), bump::dtype_info(entry.dtype).type,
              bump::shape_of(entry.role, dimensions).value_or(bump::Shape{}), entry.offset, entry.size);
  }
  return catalog;
}

Catalog catalog_of(std::shared_ptr<ByteSource> source, std::span<const bump5::Entry> entries,
                   const bump5::Header& header, Format format) {
  Catalog catalog = catalog_of_file(format, std::move(source));
  for (const bump5::Entry& entry : entries) {
    add_entry(catalog, entry.name(), entry.type(), bump5::shape_of(entry.slot.role, header).value_or(bump::Shape{}),
              entry.offset, entry.size);
  }
  return catalog;
}

Catalog catalog_of(const quantize::ImportanceMatrix& matrix) {
  Catalog catalog = catalog_of_file(Format::imatrix, matrix.source());
  catalog.files.front().path = matrix.path();
  catalog.files.front().base_name = base_name_of(matrix.path());
  for (const quantize::ImportanceEntry& entry : matrix.entries()) {
    catalog.tensors.push_back({.name = entry.name,
                               .type = TensorType::F32,
                               .ne = {&entry.values, 1},
                               .offset = entry.sums_offset,
                               .bytes = 4 * entry.values,
                               .record = entry.record_offset});
  }
  return catalog;
}

ByteMap map_bytes(std::vector<ByteSpan> spans, u64 begin, u64 end) {
  for (ByteSpan& span : spans) {
    span.begin = std::clamp(span.begin, begin, end);
    span.end = std::clamp(span.end, span.begin, end);
  }
  std::erase_if(spans, [](const ByteSpan& span) { return span.begin == span.end; });
  std::stable_sort(spans.begin(), spans.end(), [](const ByteSpan& a, const ByteSpan& b) { return a.begin < b.begin; });

  ByteMap map;
  u64 reached = begin;  // every byte below is in a span or a reported gap
  std::size_t furthest = ByteGap::no_span;
  for (const ByteSpan& span : spans) {
    if (span.begin > reached) {
      map.gaps.push_back({reached, span.begin, furthest, span.id});
    } else if (span.begin < reached) {
      map.overlaps.push_back({furthest, span.id, span.begin, std::min(span.end, reached)});
    }
    if (span.end > reached) {
      reached = span.end;
      furthest = span.id;
    }
  }
  if (reached < end) map.gaps.push_back({reached, end, furthest, ByteGap::no_span});
  return map;
}

void add_values(Statistics& statistics, std::span<const float> values) {
  u64 finite = 0;
  double sum = 0;
  double least = 0;
  double most = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++(std::isnan(value) ? statistics.nans : statistics.infs);
      continue;
    }
    if (value == 0) ++statistics.zeros;
    const double number = value;
    least = finite == 0 ? number : std::min(least, number);
    most = finite == 0 ? number : std::max(most, number);
    sum += number;
    ++finite;
  }
  statistics.count += values.size();
  if (finite == 0) return;
  const double mean = sum / static_cast<double>(finite);
  double squares = 0;
  for (const float value : values) {
    if (std::isfinite(value)) squares += (value - mean) * (value - mean);
  }
  // Combines the means and sums of squares of two groups (Chan, Golub, LeVeque).
  const u64 all = statistics.finite();
  const u64 old = all - finite;
  const double old_squares = statistics.deviation * statistics.deviation * static_cast<double>(old);
  const double distance = mean - statistics.mean;
  const double share = static_cast<double>(finite) / static_cast<double>(all);
  statistics.min = old == 0 ? least : std::min(statistics.min, least);
  statistics.max = old == 0 ? most : std::max(statistics.max, most);
  statistics.mean += distance * share;
  squares += old_squares + distance * distance * static_cast<double>(old) * share;
  statistics.deviation = std::sqrt(squares / static_cast<double>(all));
}

Result<bool> same_values(const StoredMatrix& a, const StoredMatrix& b) {
  constexpr u64 at_once = u64{1} << 16;
  if (a.elements != b.elements) return false;
  const MatrixValues left(a, {}, {}), right(b, {}, {});
  std::vector<float> x, y;
  for (u64 first = 0; first < a.elements; first += at_once) {
    x.resize(static_cast<std::size_t>(std::min(at_once, a.elements - first)));
    y.resize(x.size());
    MU_TRY(left.read_values(first, x));
    MU_TRY(right.read_values(first, y));
    if (x != y) return false;
  }
  return true;
}

}  // namespace modelutils

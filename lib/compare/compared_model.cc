#include "compare/compared_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>

#include "base/types.h"
#include "convert/merge/add_product.h"
#include "model/adapter/adapter.h"
#include "model/adapter/pairs.h"
#include "tensor/dequantize.h"

namespace modelutils {

namespace {

// Where the kept element `index` is.
u64 place_of(u64 index, const Padding& padding) {
  return index / padding.keep * padding.of + index % padding.keep;
}

class ExcerptValues : public TensorValues {
 public:
  ExcerptValues(const Catalog& catalog, const Tensor& tensor, const Excerpt& excerpt)
      : TensorValues(plain_form(*tensor.type), excerpt.rows * excerpt.columns, excerpt.columns),
        catalog_(catalog),
        tensor_(tensor),
        excerpt_(excerpt),
        row_bytes_(*row_bytes(*tensor.type, tensor.ne.front())) {}

  Status read(u64 first, u64 count, StoredRows& out) const override {
    const TypeInfo& type = type_info(form().type());
    const auto bytes_of = [&](u64 elements) { return elements / type.block_elements * type.block_bytes; };
    out.values().resize(count * bytes_of(excerpt_.columns));
    std::vector<std::byte> row(row_bytes_);
    MutableBytes left(out.values());
    for (u64 i = first; i < first + count; ++i) {
      const u64 stored = excerpt_.first_row + place_of(i, excerpt_.row_padding);
      MU_TRY(catalog_.read(tensor_, stored * row_bytes_, row));
      for (u64 column = 0; column < excerpt_.columns;) {
        const u64 run = std::min(excerpt_.column_padding.keep, excerpt_.columns - column);
        const u64 begin = bytes_of(excerpt_.first_column + place_of(column, excerpt_.column_padding));
        std::memcpy(left.data(), row.data() + begin, bytes_of(run));
        left = left.subspan(bytes_of(run));
        column += run;
      }
    }
    return {};
  }

  void decode(const StoredRows& rows, std::span<float> out) const override {
    dequantize(form().type(), rows.values(), out);
  }

 private:
  const Catalog& catalog_;
  const Tensor& tensor_;
  Excerpt excerpt_;
  u64 row_bytes_;
};

}  // namespace

void set_excerpt(const Catalog& catalog, const Tensor& stored, const Excerpt& excerpt, ComparedTensor& tensor,
                 KeptTexts& kept) {
  tensor.ne = kept.keep(excerpt.rows == 1 ? std::vector<u64>{excerpt.columns}
                                          : std::vector<u64>{excerpt.columns, excerpt.rows});
  const u64 block = type_info(*stored.type).block_elements;
  for (const u64 edge :
       {excerpt.columns, excerpt.column_padding.keep, excerpt.column_padding.of, excerpt.first_column}) {
    if (edge % block != 0) {
      tensor.problem = "heads are not made of whole blocks";
      return;
    }
  }
  tensor.values = [catalog = &catalog, &stored, excerpt] {
    return std::make_unique<ExcerptValues>(*catalog, stored, excerpt);
  };
}

ComparedTensor compared_entry(const Catalog& catalog, const Tensor& stored, std::string name, std::string_view word,
                              const Excerpt* excerpt, KeptTexts& kept) {
  ComparedTensor tensor;
  tensor.name = kept.keep(std::move(name));
  tensor.type = stored.type ? type_name(*stored.type) : kept.keep(std::string(word));
  tensor.ne = stored.ne;
  tensor.bytes = stored.bytes;
  tensor.offset = stored.offset;
  if (excerpt == nullptr) {
    tensor.values = [&catalog, &stored] { return std::make_unique<MatrixValues>(catalog.values_of(stored)); };
  } else if (stored.type) {
    set_excerpt(catalog, stored, *excerpt, tensor, kept);
  } else {
    tensor.problem = "the type is not known";
  }
  if (stored.type) tensor.bits = 8.0 * type_info(*stored.type).block_bytes / type_info(*stored.type).block_elements;
  return tensor;
}

void set_facts(const bump::Dimensions& d, ModelFacts& facts) {
  const auto known = [](u64 number) { return number == 0 ? std::nullopt : std::optional(number); };
  const auto range = [](u64 number) { return number == 0 ? std::nullopt : std::optional(Range{number, number}); };
  facts.layers = known(d.layers);
  facts.context = known(d.context);
  facts.embedding = known(d.embed);
  facts.head_dim = known(d.head_dim);
  facts.vocabulary = known(d.vocab);
  facts.heads = range(d.heads);
  facts.heads_kv = range(d.kv_heads);
  facts.feed_forward = range(d.intermediate);
}

Result<bool> is_all_zero(const ByteSource& file, u64 offset, u64 size) {
  std::vector<std::byte> piece;
  for (u64 done = 0; done < size; done += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min<u64>(size - done, 64 * 1024)));
    MU_TRY(file.read_exact(offset + done, piece));
    if (std::ranges::any_of(piece, [](std::byte byte) { return byte != std::byte{0}; })) return false;
  }
  return true;
}

namespace {

// Of all products of an adapter together. A pair of thin matrices in a small file may state a product that nobody can
// compute: those of the largest models have a hundredth of it.
constexpr u64 most_elements = u64{1} << 40;
// Of both factors of a pair, which are held as float32: 1 GiB, and A twice while it is put into panels.
constexpr u64 most_factors = u64{1} << 28;

// `a` [slices, rank, columns], `b` [slices, rows, rank].
struct Factors {
  std::vector<float> a, b;
};
using Load = std::function<Result<Factors>()>;

struct Shape {
  u64 rank = 0;
  u64 columns = 0;
  u64 rows = 0;
  u64 slices = 1;

  std::optional<u64> elements() const {
    const auto slice = checked_mul(rows, columns);
    return slice ? checked_mul(*slice, slices) : std::nullopt;
  }
  std::optional<u64> factors() const {
    const auto both = checked_add(rows, columns);
    const auto slice = both ? checked_mul(*both, rank) : std::nullopt;
    return slice ? checked_mul(*slice, slices) : std::nullopt;
  }
};

class ProductValues : public TensorValues {
 public:
  ProductValues(const Shape& shape, double scale, Load load)
      : TensorValues(plain_form(TensorType::F32), shape.elements().value_or(0), std::max<u64>(shape.columns, 1)),
        shape_(shape),
        scale_(scale),
        load_(std::move(load)) {}

  Status read(u64 first, u64 count, StoredRows& out) const override {
    MU_TRY(load());
    std::vector<float> values(static_cast<std::size_t>(count * shape_.columns));
    for (u64 done = 0; done < count;) {
      const u64 slice = (first + done) / shape_.rows;
      const u64 row = (first + done) % shape_.rows;
      const u64 rows = std::min(count - done, shape_.rows - row);
      adapter::add_product(slices_[slice],
                           std::span(b_).subspan((slice * shape_.rows + row) * shape_.rank, rows * shape_.rank),
                           std::span(values).subspan(done * shape_.columns, rows * shape_.columns));
      done += rows;
    }
    out.values().resize(values.size() * sizeof(float));
    std::memcpy(out.values().data(), values.data(), out.values().size());
    return {};
  }

  void decode(const StoredRows& rows, std::span<float> out) const override {
    std::memcpy(out.data(), rows.values().data(), out.size_bytes());
  }

 private:
  Status load() const {
    const std::lock_guard lock(mutex_);
    if (!slices_.empty()) return {};
    MU_ASSIGN(Factors factors, load_());
    for (float& value : factors.b) value = static_cast<float>(scale_ * static_cast<double>(value));
    b_ = std::move(factors.b);
    const u64 size = shape_.rank * shape_.columns;
    for (u64 slice = 0; slice < shape_.slices; ++slice) {
      slices_.emplace_back(std::span(factors.a).subspan(slice * size, size), shape_.rank, shape_.columns);
    }
    return {};
  }

  Shape shape_;
  double scale_;
  Load load_;
  mutable std::mutex mutex_;
  mutable std::vector<adapter::Panels> slices_;  // of A
  mutable std::vector<float> b_;
};

// Element (slice, i, j) of a factor as it lies in `values`, in rows.
std::vector<float> in_rows(const adapter::Factor& factor, const std::vector<float>& values) {
  std::vector<float> rows;
  rows.reserve(static_cast<std::size_t>(factor.stack * factor.rows * factor.columns));
  for (u64 slice = 0; slice < factor.stack; ++slice) {
    for (u64 i = 0; i < factor.rows; ++i) {
      const u64 begin = factor.start + slice * factor.stack_stride + i * factor.row_stride;
      for (u64 j = 0; j < factor.columns; ++j) rows.push_back(values[begin + j * factor.column_stride]);
    }
  }
  return rows;
}

class Products {
 public:
  explicit Products(ComparedModel& side) : side_(side) {}

  void add(std::string_view name, const Shape& shape, double scale, Load load) {
    ComparedTensor& tensor = made_.emplace_back();
    tensor.name = side_.kept->keep(std::string(name));
    tensor.type = side_.kept->keep(fmt::format("rank {}", shape.rank));
    std::vector<u64> ne = {shape.columns, shape.rows};
    if (shape.slices > 1) ne.push_back(shape.slices);
    tensor.ne = side_.kept->keep(std::move(ne));
    const u64 elements = shape.elements().value_or(most_elements);
    elements_ = checked_add(elements_, elements).value_or(most_elements);
    if (shape.factors().value_or(most_factors + 1) > most_factors) {
      tensor.problem = "the factors are too large to be kept in memory";
      return;
    }
    if (elements_ >= most_elements) {
      tensor.problem = "the product is too large to be computed";
      return;
    }
    tensor.bytes = elements * sizeof(float);
    tensor.values = [shape, scale, load = std::move(load)] {
      return std::make_unique<ProductValues>(shape, scale, load);
    };
  }

  void replace(const std::set<std::string_view>& factors) {
    std::erase_if(side_.tensors, [&](const ComparedTensor& tensor) { return factors.contains(tensor.name); });
    side_.tensors.insert(side_.tensors.end(), std::make_move_iterator(made_.begin()),
                         std::make_move_iterator(made_.end()));
  }

 private:
  ComparedModel& side_;
  std::vector<ComparedTensor> made_;
  u64 elements_ = 0;
};

Result<std::vector<float>> read_tensor(const gguf::SetFile& file, const gguf::TensorInfo& tensor) {
  const MatrixValues values =
      stored_values(tensor_of(file.document, tensor), *file.source, file.path, file.document.big_endian);
  std::vector<float> numbers(static_cast<std::size_t>(values.elements()));
  MU_TRY(values.read_values(0, numbers));
  return numbers;
}

std::vector<float> transposed(const std::vector<float>& values, u64 rows, u64 columns) {
  std::vector<float> out(values.size());
  for (u64 i = 0; i < rows; ++i) {
    for (u64 j = 0; j < columns; ++j) out[j * rows + i] = values[i * columns + j];
  }
  return out;
}

void take_gguf(const gguf::SetFile& file, ComparedModel& side) {
  const gguf::Index index(file.document);
  const auto found = adapter::gguf_adapter(file.document, index);
  if (!found) return;
  Products products(side);
  std::set<std::string_view> readable;  // what lies in the file
  for (const ComparedTensor& tensor : side.tensors) {
    if (tensor.values) readable.insert(tensor.name);
  }
  std::set<std::string_view> factors;
  for (const adapter::GgufPair& pair : found->pairs) {
    const Shape shape = {pair.rank(), pair.columns(), pair.rows(), pair.slices()};
    const auto fits = [&](const gguf::TensorInfo& tensor, u64 x, u64 y, u64 slices) {
      const u64 elements = tensor.elements().value_or(0);
      const auto wanted = checked_mul(x, y);
      return readable.contains(tensor.name) && tensor.type() && elements > 0 && wanted &&
             checked_mul(*wanted, slices) == elements;
    };
    const bool is_embedding = pair.is_embedding();
    if (!fits(*pair.a, shape.rank, is_embedding ? shape.rows : shape.columns, shape.slices) ||
        !fits(*pair.b, shape.rank, is_embedding ? shape.columns : shape.rows, shape.slices)) {
      continue;  // no pair: its factors are compared as they are
    }
    factors.insert({pair.a->name, pair.b->name});
    products.add(pair.target, shape, found->scale_of(pair), [&file, pair, shape, is_embedding]() -> Result<Factors> {
      Factors read;
      MU_ASSIGN(read.a, read_tensor(file, *pair.a));
      MU_ASSIGN(read.b, read_tensor(file, *pair.b));
      if (is_embedding) {
        std::swap(read.a, read.b);
        read.a = transposed(read.a, shape.columns, shape.rank);
      }
      return read;
    });
  }
  products.replace(factors);
}

Status take_directory(const SafetensorsModel& model, ComparedModel& side) {
  MU_ASSIGN(auto read, adapter::read_adapter(model.folder, model.set));
  const auto adapter = std::make_shared<const adapter::Adapter>(std::move(read));
  Products products(side);
  std::set<std::string_view> factors;
  for (const adapter::Module& module : adapter->modules) {
    factors.insert({module.a.name, module.b.name});
    const Shape shape = {module.rank(), module.a.columns, module.b.rows, module.b.stack};
    products.add(module.name, shape, module.scale, [adapter, &module]() -> Result<Factors> {
      Factors found;
      MU_ASSIGN(const std::vector<float> a, adapter->read(module.a));
      MU_ASSIGN(const std::vector<float> b, adapter->read(module.b));
      found.a = in_rows(module.a, a);
      found.b = in_rows(module.b, b);
      return found;
    });
  }
  products.replace(factors);
  return {};
}

}  // namespace

bool is_adapter(const Model& model) {
  if (model.gguf) {
    const gguf::Document& document = model.gguf->files.front().document;
    return adapter::gguf_adapter(document, gguf::Index(document)).has_value();
  }
  return model.safetensors && model.safetensors->set.is_directory && adapter::is_adapter(model.safetensors->folder);
}

Status take_products(const Model& model, ComparedModel& side) {
  if (!model.gguf) return take_directory(*model.safetensors, side);
  take_gguf(model.gguf->files.front(), side);
  return {};
}

}  // namespace modelutils

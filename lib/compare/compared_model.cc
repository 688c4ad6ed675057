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

StoredForm ComparedTensors::form(const Tensor& tensor) const {
  return tensor.type ? plain_form(*tensor.type) : opaque_form();
}

std::string ComparedTensors::type_text(const Tensor& tensor) const {
  const StoredForm stored = form(tensor);
  return form_info(stored).short_text(stored);
}

std::string ComparedTensors::place_text(const Tensor& tensor) const {
  return std::to_string(tensor.offset);
}

namespace {

// Limit on the elements of all products of an adapter. A small file with two thin matrices could otherwise demand a
// product that takes forever to compute. Adapters of the largest models need a hundredth of the limit.
constexpr u64 most_elements = u64{1} << 40;
// Limit on the elements of both factors of a pair, which are held as float32: 1 GiB, plus another copy of A while its
// panels are filled.
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

// Converts a factor from the order of `values` to row-major order, slice by slice.
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

// The products of an adapter's pairs, and its tensors that are not factors.
class Products : public ComparedTensors {
 public:
  explicit Products(std::shared_ptr<const ComparedTensors> stored) : stored_(std::move(stored)) {}

  void add(std::string_view name, const Shape& shape, double scale, Load load) {
    Product& product = products_.emplace_back(shape, scale, std::move(load));
    std::vector<u64> ne = {shape.columns, shape.rows};
    if (shape.slices > 1) ne.push_back(shape.slices);
    Tensor& tensor = made_.emplace_back();
    tensor.name = kept_.keep(std::string(name));
    tensor.ne = kept_.keep(std::move(ne));
    const u64 elements = shape.elements().value_or(most_elements);
    elements_ = checked_add(elements_, elements).value_or(most_elements);
    if (shape.factors().value_or(most_factors + 1) > most_factors) {
      product.problem = "the factors are too large to be kept in memory";
    } else if (elements_ >= most_elements) {
      product.problem = "the product is too large to be computed";
    } else {
      tensor.bytes = elements * sizeof(float);
    }
  }

  // Call once, after the last add().
  void leave_out(const std::set<std::string_view>& factors) {
    for (const Tensor& tensor : stored_->list()) {
      if (factors.contains(tensor.name)) continue;
      tensors_.push_back(tensor);
      others_.push_back(&tensor);
    }
    tensors_.insert(tensors_.end(), made_.begin(), made_.end());
    list_ = tensors_;
  }

  std::string type_text(const Tensor& tensor) const override {
    const Tensor* other = other_of(tensor);
    return other != nullptr ? stored_->type_text(*other) : fmt::format("rank {}", product_of(tensor).shape.rank);
  }
  StoredForm form(const Tensor& tensor) const override {
    const Tensor* other = other_of(tensor);
    return other != nullptr ? stored_->form(*other) : opaque_form();
  }
  std::string_view problem(const Tensor& tensor) const override {
    const Tensor* other = other_of(tensor);
    return other != nullptr ? stored_->problem(*other) : product_of(tensor).problem;
  }
  std::string place_text(const Tensor& tensor) const override {
    const Tensor* other = other_of(tensor);
    return other != nullptr ? stored_->place_text(*other) : ComparedTensors::place_text(tensor);
  }
  std::unique_ptr<TensorValues> values(const Tensor& tensor) const override {
    if (const Tensor* other = other_of(tensor)) return stored_->values(*other);
    const Product& product = product_of(tensor);
    return std::make_unique<ProductValues>(product.shape, product.scale, product.load);
  }

 private:
  struct Product {
    Product(const Shape& made_shape, double made_scale, Load made_load)
        : shape(made_shape), scale(made_scale), load(std::move(made_load)) {}
    Shape shape;
    double scale;
    Load load;
    std::string_view problem;
  };

  const Tensor* other_of(const Tensor& tensor) const {
    const std::size_t place = place_of(tensor);
    return place < others_.size() ? others_[place] : nullptr;
  }
  const Product& product_of(const Tensor& tensor) const { return products_[place_of(tensor) - others_.size()]; }

  std::shared_ptr<const ComparedTensors> stored_;
  std::vector<const Tensor*> others_;  // tensors of `stored_`, which come first in the list
  std::vector<Product> products_;      // the products, which follow them
  std::vector<Tensor> made_, tensors_;
  KeptTexts kept_;
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
  const auto products = std::make_shared<Products>(side.tensors);
  std::set<std::string_view> readable;  // names of the tensors whose data is in the file
  for (const Tensor& tensor : side.tensors->list()) {
    if (tensor.is_readable()) readable.insert(tensor.name);
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
      continue;  // not a pair: its factors are compared as plain tensors
    }
    factors.insert({pair.a->name, pair.b->name});
    products->add(pair.target, shape, found->scale_of(pair), [&file, pair, shape, is_embedding]() -> Result<Factors> {
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
  products->leave_out(factors);
  side.tensors = products;
}

Status take_directory(const SafetensorsModel& model, ComparedModel& side) {
  MU_ASSIGN(auto read, adapter::read_adapter(model.folder, model.set));
  const auto adapter = std::make_shared<const adapter::Adapter>(std::move(read));
  const auto products = std::make_shared<Products>(side.tensors);
  std::set<std::string_view> factors;
  for (const adapter::Module& module : adapter->modules) {
    factors.insert({module.a.name, module.b.name});
    const Shape shape = {module.rank(), module.a.columns, module.b.rows, module.b.stack};
    products->add(module.name, shape, module.scale, [adapter, &module]() -> Result<Factors> {
      Factors found;
      MU_ASSIGN(const std::vector<float> a, adapter->read(module.a));
      MU_ASSIGN(const std::vector<float> b, adapter->read(module.b));
      found.a = in_rows(module.a, a);
      found.b = in_rows(module.b, b);
      return found;
    });
  }
  products->leave_out(factors);
  side.tensors = products;
  return {};
}

}  // namespace

std::optional<arch::ImageLayout> image_layout_of(const Model& model) {
  if (model.gguf) {
    if (arch::image_model_of(*model.gguf).empty()) return std::nullopt;
    return arch::image_layout(*model.gguf);
  }
  if (!model.safetensors || !model.architecture().empty()) return std::nullopt;
  std::vector<std::string_view> names;
  for (const Tensor& tensor : model.catalog().tensors) names.push_back(tensor.name);
  const arch::ImageLayout layout = arch::image_layout(names);
  if (!layout || arch::not_an_image_model(names, layout)) return std::nullopt;
  return layout;
}

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

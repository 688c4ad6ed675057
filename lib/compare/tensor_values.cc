#include "compare/tensor_values.h"

#include <algorithm>
#include <cstring>

#include "base/checked_math.h"
#include "mlx/dequantize.h"
#include "tensor/dequantize.h"
#include "to_gguf/transposed_rows.h"

namespace modelutils {

namespace {

u64 elements_of(std::span<const u64> ne) {
  return checked_product(ne).value_or(0);
}

class CatalogValues : public TensorValues {
 public:
  CatalogValues(const Catalog& catalog, const CatalogTensor& tensor)
      : TensorValues({*tensor.type, {}, {}, {}, catalog.big_endian}, elements_of(tensor.ne),
                     type_info(*tensor.type).block_elements),
        file_(*catalog.files[tensor.file].source),
        offset_(tensor.offset) {}

  bool can_decode() const override { return has_decoder(storage().type) && !storage().big_endian; }

  Status read(u64 first, u64 count, StoredRows& out) const override {
    const u64 block = type_info(storage().type).block_bytes;
    out.values.resize(count * block);
    return file_.read_exact(offset_ + first * block, out.values);
  }

  void decode(const StoredRows& rows, std::span<float> out) const override { decode_some(rows, 0, out); }

  bool can_decode_some() const override { return true; }

  void decode_some(const StoredRows& rows, u64 first, std::span<float> out) const override {
    dequantize(storage().type, Bytes(rows.values).subspan(first * type_info(storage().type).block_bytes), out);
  }

 private:
  const ByteSource& file_;
  u64 offset_;
};

// A tensor of a type that nobody knows: as many elements as it has bytes, which cannot be decoded.
class OpaqueValues : public TensorValues {
 public:
  OpaqueValues(const Catalog& catalog, const CatalogTensor& tensor)
      : TensorValues({TensorType::I8, {}, {}, {}, false}, tensor.bytes, 1),
        file_(*catalog.files[tensor.file].source),
        offset_(tensor.offset) {}

  bool can_decode() const override { return false; }

  Status read(u64 first, u64 count, StoredRows& out) const override {
    out.values.resize(count);
    return file_.read_exact(offset_ + first, out.values);
  }

  void decode(const StoredRows& /*rows*/, std::span<float> /*out*/) const override {}

 private:
  const ByteSource& file_;
  u64 offset_;
};

class PackedValues : public TensorValues {
 public:
  PackedValues(const Catalog& catalog, const ViewTensor& tensor)
      : TensorValues(storage_of(catalog, tensor), tensor.elements, tensor.packing->group_size),
        catalog_(catalog),
        tensor_(tensor) {}

  Status read(u64 first, u64 count, StoredRows& out) const override {
    MU_TRY(read_part(tensor_.stored, storage().packing->group_bytes(), first, count, out.values));
    MU_TRY(read_part(tensor_.scales, type_info(storage().scale_type).block_bytes, first, count, out.scales));
    if (!has_biases(tensor_)) return {};
    return read_part(tensor_.biases, type_info(storage().bias_type).block_bytes, first, count, out.biases);
  }

  void decode(const StoredRows& rows, std::span<float> out) const override {
    mlx::dequantize(*storage().packing,
                    {rows.values, storage().scale_type, rows.scales, storage().bias_type, rows.biases}, out);
  }

 private:
  static bool has_biases(const ViewTensor& tensor) {
    return tensor.biases != mlx::no_tensor && mlx::mode_info(tensor.packing->mode).has_biases;
  }

  static Storage storage_of(const Catalog& catalog, const ViewTensor& tensor) {
    const TensorType scales = *catalog.tensors[tensor.scales].type;
    const TensorType biases = has_biases(tensor) ? *catalog.tensors[tensor.biases].type : TensorType::F32;
    return {*tensor.type, tensor.packing, scales, biases, false};
  }

  Status read_part(std::size_t place, u64 width, u64 first, u64 count, std::vector<std::byte>& out) const {
    const CatalogTensor& stored = catalog_.tensors[place];
    out.resize(count * width);
    return catalog_.files[stored.file].source->read_exact(stored.offset + first * width, out);
  }

  const Catalog& catalog_;
  const ViewTensor& tensor_;
};

class MappedValues : public TensorValues {
 public:
  MappedValues(const HfModel& model, const MappedTensor& tensor)
      : TensorValues(storage_of(model, tensor), elements_of(tensor.ne),
                     tensor.is_whole ? elements_of(tensor.ne) : tensor.columns() * row_granule(tensor)),
        model_(model),
        tensor_(tensor) {}

  Status read(u64 first, u64 count, StoredRows& out) const override {
    if (!tensor_.is_whole) {
      const u64 granule = row_granule(tensor_);
      return read_stored_rows(model_, tensor_, first * granule, count * granule, out);
    }
    MU_ASSIGN(const std::vector<float> values, read_whole(model_, tensor_));
    out.values.resize(values.size() * sizeof(float));
    std::memcpy(out.values.data(), values.data(), out.values.size());
    return {};
  }

  void decode(const StoredRows& rows, std::span<float> out) const override {
    if (tensor_.is_whole) {
      std::memcpy(out.data(), rows.values.data(), out.size_bytes());
    } else {
      decode_rows(model_, tensor_, rows, out);
    }
  }

 private:
  static Storage storage_of(const HfModel& model, const MappedTensor& tensor) {
    if (tensor.is_whole) return {};  // read as float32
    const SourceMatrix& matrix = model.matrices[tensor.parts.front().matrix];
    if (tensor.has_computed_rows() || !matrix.quantized) return {values_type(matrix), {}, {}, {}, false};
    return {matrix.values.type, matrix.quantized, matrix.scales.type, matrix.biases.type, false};
  }

  const HfModel& model_;
  const MappedTensor& tensor_;
};

}  // namespace

std::unique_ptr<TensorValues> values_for_comparison(const Catalog& catalog, const CatalogTensor& tensor) {
  if (!tensor.type) return std::make_unique<OpaqueValues>(catalog, tensor);
  return std::make_unique<CatalogValues>(catalog, tensor);
}

std::unique_ptr<TensorValues> values_for_comparison(const ModelView& view, const ViewTensor& tensor) {
  if (tensor.packing) return std::make_unique<PackedValues>(view.catalog(), tensor);
  return values_for_comparison(view.catalog(), view.catalog().tensors[tensor.stored]);
}

std::unique_ptr<TensorValues> values_for_comparison(const HfModel& model, const MappedTensor& tensor) {
  return std::make_unique<MappedValues>(model, tensor);
}

}  // namespace modelutils

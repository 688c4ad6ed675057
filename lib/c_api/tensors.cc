#include <fmt/core.h>
#include <cstddef>

#include "c_api/handle.h"

using namespace modelutils;
using namespace modelutils::c_api;

namespace modelutils::c_api {

Result<const Tensor*> tensor_entry(const mu_model* model, u64 index) {
  if (model == nullptr) return null_argument("model");
  const std::vector<Tensor>& tensors = model->opened.catalog().tensors;
  if (index >= tensors.size()) {
    return input_error("api-range", fmt::format("there is no tensor {}: the model has {}", index, tensors.size()), {},
                       {}, model->opened.path());
  }
  return &tensors[index];
}

}  // namespace modelutils::c_api

namespace {

uint64_t part_index(std::size_t place) {
  return place == mlx::no_tensor ? MU_NONE : place;
}

mu_tensor describe(const mu_model& handle, const Tensor& tensor) {
  const Model& model = handle.opened;
  const Weight* weight = model.weight_of(tensor);
  const std::span<const u64> ne = model.ne_of(tensor);
  mu_tensor info{};
  info.type = tensor.type ? static_cast<int32_t>(*tensor.type) : MU_TYPE_UNKNOWN;
  info.type_name = mu_type_name(info.type);
  info.name = handle.names.text.data() + handle.names.begin[model.place_of(tensor)];
  info.name_size = tensor.name.size();
  info.dims = ne.data();
  info.n_dims = ne.size();
  info.elements = model.elements_of(tensor);
  info.columns = columns_of(model, tensor);
  info.rows = rows_of(model, tensor);
  info.bytes = tensor.bytes;
  info.offset = tensor.offset;
  info.file = tensor.file;
  const bool packs = weight != nullptr && weight->form->kind == FormKind::mlx;
  info.packing = packs ? packing_of(weight->form->params.mode) : MU_PACKING_NONE;
  info.bits = packs ? weight->form->params.bits : 0;
  info.group_size = packs ? weight->form->params.group_size : 0;
  info.is_part = model.is_part(tensor) ? 1 : 0;
  info.scales = part_index(weight != nullptr ? weight->planes[1] : no_tensor);
  info.biases = part_index(weight != nullptr ? weight->planes[2] : no_tensor);
  return info;
}

// Returns the mapping of a file, creating it on first use.
Result<Bytes> mapped(const mu_model& model, std::size_t file) {
  const std::scoped_lock lock(model.mutex);
  std::shared_ptr<MappedFile>& mapping = model.mappings[file];
  if (!mapping) {
    const CatalogFile& source = model.opened.catalog().files[file];
    const RandomAccessFile* regular = source.source->as_file();
    if (regular == nullptr) return input_error("io-map", "is not a regular file", {}, {}, source.path);
    MU_ASSIGN(mapping, MappedFile::map(*regular));
  }
  return mapping->bytes();
}

}  // namespace

mu_status mu_tensor_find(const mu_model* model, const char* name, uint64_t* index) {
  return guarded([&]() -> Status {
    if (model == nullptr) return null_argument("model");
    if (name == nullptr) return null_argument("name");
    if (index == nullptr) return null_argument("index");
    const Tensor* found = model->opened.find(name);
    if (found == nullptr) {
      return input_error("api-not-found", fmt::format("there is no tensor '{}'", name), {}, {}, model->opened.path());
    }
    *index = model->opened.place_of(*found);
    return {};
  });
}

mu_status mu_tensor_info(const mu_model* model, uint64_t index, mu_tensor* info) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Tensor* const tensor, tensor_entry(model, index));
    if (info == nullptr) return null_argument("info");
    return give_struct(describe(*model, *tensor), info, offsetof(mu_tensor, biases) + sizeof(info->biases));
  });
}

mu_status mu_tensor_data(const mu_model* model, uint64_t index, const void** data, uint64_t* bytes) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Tensor* const tensor, tensor_entry(model, index));
    if (data == nullptr) return null_argument("data");
    const Tensor& place = *tensor;
    MU_ASSIGN(const Bytes file, mapped(*model, place.file));
    const CatalogFile& source = model->opened.catalog().files[place.file];
    if (place.offset >= file.size() && fits(place.offset, place.bytes, source.source->size().value_or(0))) {
      return input_error("io-map", "the tensor is not contiguous in the file; use mu_tensor_read()",
                         at_tensor(tensor->name), {}, source.path);
    }
    if (!fits(place.offset, place.bytes, file.size())) {
      return input_error("io-shrunk", "the file became shorter while it was being read", at_tensor(tensor->name), {},
                         source.path);
    }
    static constexpr std::byte nothing{};
    *data = place.bytes == 0 ? &nothing : file.data() + place.offset;
    if (bytes != nullptr) *bytes = place.bytes;
    return {};
  });
}

mu_status mu_tensor_read(const mu_model* model, uint64_t index, uint64_t offset, void* out, uint64_t size) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Tensor* const tensor, tensor_entry(model, index));
    if (!fits(offset, size, tensor->bytes)) {
      return input_error("api-range", "the requested bytes lie outside the tensor", at_tensor(tensor->name), {},
                         model->opened.path());
    }
    if (size == 0) return {};
    if (out == nullptr) return null_argument("out");
    const auto room = checked_cast<std::size_t>(size);
    if (!room) return bad_argument("size is larger than the address space");
    return model->opened.catalog().read(*tensor, offset, {static_cast<std::byte*>(out), *room});
  });
}

mu_status mu_tensor_dequantize(const mu_model* model, uint64_t index, uint64_t first_row, uint64_t rows, float* out,
                               uint64_t capacity) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Tensor* const tensor, tensor_entry(model, index));
    const u64 all = rows_of(model->opened, *tensor);
    if (!fits(first_row, rows, all)) {
      return input_error("api-range", fmt::format("the tensor has {} rows", all), at_tensor(tensor->name), {},
                         model->opened.path());
    }
    const u64 columns = columns_of(model->opened, *tensor);
    const u64 count = rows * columns;  // at most `elements`
    if (capacity < count) {
      return input_error("api-buffer",
                         fmt::format("the buffer has room for {} floats, but {} are needed", capacity, count),
                         at_tensor(tensor->name));
    }
    if (count == 0) return {};
    if (out == nullptr) return null_argument("out");
    const auto room = checked_cast<std::size_t>(count);
    if (!room) return bad_argument("the rows are larger than the address space");
    return model->opened.values_of(*tensor).read_values(first_row * columns, {out, *room});
  });
}

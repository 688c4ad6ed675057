#include <fmt/core.h>

#include <cstddef>
#include <limits>

#include "c_api/handle.h"
#include "model/mlx/modules.h"
#include "rules/gguf/rules.h"
#include "rules/safetensors/rules.h"

using namespace modelutils;
using namespace modelutils::c_api;

#define MU_TEXT_(x) #x
#define MU_TEXT(x) MU_TEXT_(x)
static_assert(std::string_view(MU_TEXT(MU_VERSION_MAJOR) "." MU_TEXT(MU_VERSION_MINOR) "." MU_TEXT(MU_VERSION_PATCH)) ==
                  MODELUTILS_VERSION,
              "the version in modelutils.h differs from the project's");

using namespace modelutils;
using namespace modelutils::c_api;

mu_model::mu_model(Model from) : opened(std::move(from)), architecture(opened.architecture()) {
  if (opened.gguf) {
    metadata = opened.gguf->files.front().document.keys;
  } else {
    for (const safetensors::MetadataEntry& entry : opened.safetensors->set.metadata()) {
      own_metadata.push_back({std::string(entry.key), entry.offset, entry.offset, std::string(entry.value)});
    }
    metadata = own_metadata;
  }
  keys.reserve(metadata.size());
  for (std::size_t i = 0; i < metadata.size(); ++i) {
    if (keys.insert(metadata[i].key).is_new) entries.push_back(i);
  }
  mappings.resize(opened.catalog().files.size());
  for (const Tensor& tensor : opened.catalog().tensors) {
    names.begin.push_back(names.text.size());
    names.text += tensor.name;
    names.text += '\0';
  }
}

namespace {

// Applies the rules by which the dumpers reject a file; otherwise tensors of unknown size would silently be missing.
Status check_container(const Model& model) {
  const Findings findings =
      model.gguf ? gguf_container_findings(*model.gguf) : safetensors_container_findings(model.safetensors->set);
  const Finding* broken = first_container_error(findings);
  if (broken == nullptr) return {};
  return tl::make_unexpected(with_path(*broken, model.path()));
}

template <typename T>
T null_model(T instead) {
  guarded([]() -> Status { return null_argument("model"); });
  return instead;
}

}  // namespace

const char* mu_version(void) {
  return MODELUTILS_VERSION;
}

uint32_t mu_version_number(void) {
  return MU_VERSION_MAJOR * 1000000 + MU_VERSION_MINOR * 1000 + MU_VERSION_PATCH;
}

mu_status mu_open(const char* path, mu_model** model) {
  return guarded([&]() -> Status {
    if (model == nullptr) return null_argument("model");
    *model = nullptr;
    if (path == nullptr) return null_argument("path");
    MU_ASSIGN(const std::string found, named_path(path));
    Result<Model> opened = open_sound_model(found);
    if (!opened) return about_named(std::move(opened.error()), path);
    MU_TRY(check_container(*opened));
    *model = std::make_unique<mu_model>(std::move(*opened)).release();
    return {};
  });
}

void mu_close(mu_model* model) {
  delete model;
}

const char* mu_format(const mu_model* model) {
  return model == nullptr ? null_model<const char*>(nullptr) : format_info(model->opened.format).name.data();
}

const char* mu_architecture(const mu_model* model) {
  return model == nullptr ? null_model<const char*>(nullptr) : model->architecture.c_str();
}

int32_t mu_is_big_endian(const mu_model* model) {
  if (model == nullptr) return null_model<int32_t>(0);
  return model->opened.catalog().big_endian ? 1 : 0;
}

uint64_t mu_parameter_count(const mu_model* model) {
  if (model == nullptr) return null_model<u64>(0);
  const Model& opened = model->opened;
  u64 parameters = 0;
  for (const Tensor& tensor : opened.catalog().tensors) {
    if (!opened.is_part(tensor)) parameters = checked_add(parameters, opened.elements_of(tensor)).value_or(parameters);
  }
  return parameters;
}

uint64_t mu_file_count(const mu_model* model) {
  return model == nullptr ? null_model<u64>(0) : model->opened.catalog().files.size();
}

uint64_t mu_tensor_count(const mu_model* model) {
  return model == nullptr ? null_model<u64>(0) : model->opened.catalog().tensors.size();
}

uint64_t mu_metadata_count(const mu_model* model) {
  return model == nullptr ? null_model<u64>(0) : model->metadata.size();
}

const char* mu_file_path(const mu_model* model, uint64_t file) {
  const char* path = nullptr;
  guarded([&]() -> Status {
    if (model == nullptr) return null_argument("model");
    const std::vector<CatalogFile>& files = model->opened.catalog().files;
    if (file >= files.size()) return input_error("api-range", "the model has no file with that number");
    path = files[file].path.c_str();
    return {};
  });
  return path;
}

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

uint64_t part_index(const Model& model, const Weight* weight, std::size_t plane) {
  return weight != nullptr && weight->has_plane(plane) ? model.place_of(*weight->planes[plane]) : MU_NONE;
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
  const bool packs = weight != nullptr && weight->form.kind == FormKind::mlx;
  info.packing = packs ? packing_of(weight->form.params.mode) : MU_PACKING_NONE;
  info.bits = packs ? weight->form.params.bits : 0;
  info.group_size = packs ? weight->form.params.group_size : 0;
  info.is_part = model.is_part(tensor) ? 1 : 0;
  info.scales = part_index(model, weight, 1);
  info.biases = part_index(model, weight, 2);
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

// Copies packed MLX weights into the caller's buffer.

namespace {

constexpr uint32_t known_flags = MU_PACK_BF16_TO_F16;

struct Plan {
  std::vector<const Weight*> weights;
  std::vector<mlx::MatrixSizes> sizes;
  mlx::PackedLayout layout;
  bool narrows = false;  // scales and biases are converted from BF16 to F16
  u64 rows = 0;
};

Result<mlx::MatrixSizes> sizes_of(const Model& model, const Tensor& codes, const Weight* weight) {
  if (weight == nullptr || weight->form.kind != FormKind::mlx) {
    return input_error("api-type", "the tensor is not a weight packed by MLX", at_tensor(codes.name), {}, model.path());
  }
  const Tensor& scales = *weight->planes[1];
  mlx::MatrixSizes sizes;
  sizes.params = weight->form.params;
  sizes.columns = columns_of(model, codes);
  sizes.rows = rows_of(model, codes);
  sizes.scale_type = *scales.type;
  sizes.weight_bytes = codes.bytes;
  sizes.scales_bytes = scales.bytes;
  if (weight->has_plane(2)) {
    const Tensor& biases = *weight->planes[2];
    sizes.biases_bytes = biases.bytes;
    if (biases.type != scales.type) {
      return input_error("mlx-pack-mismatch", "scales and biases have different types", at_tensor(codes.name), {},
                         model.path());
    }
  }
  return sizes;
}

Result<Plan> make_plan(const mu_model* model, const uint64_t* weights, uint64_t count, uint32_t flags) {
  if (model == nullptr) return null_argument("model");
  if (weights == nullptr) return null_argument("weights");
  if ((flags & ~known_flags) != 0) return bad_argument(fmt::format("unknown flags {:#x}", flags & ~known_flags));
  Plan plan;
  for (u64 i = 0; i < count; ++i) {
    MU_ASSIGN(const Tensor* const codes, tensor_entry(model, weights[i]));
    const Weight* const weight = model->opened.weight_of(*codes);
    MU_ASSIGN(const mlx::MatrixSizes sizes, sizes_of(model->opened, *codes, weight));
    plan.weights.push_back(weight);
    plan.sizes.push_back(sizes);
    const auto rows = checked_add(plan.rows, sizes.rows);
    if (!rows) return bad_argument("the total number of rows does not fit in 64 bits");
    plan.rows = *rows;
  }
  MU_ASSIGN(plan.layout, mlx::fused_layout(plan.sizes, (flags & MU_PACK_BF16_TO_F16) != 0));
  plan.narrows = plan.layout.scale_type != plan.sizes.front().scale_type;
  return plan;
}

mu_packed describe(const Plan& plan) {
  const mlx::MatrixSizes& first = plan.sizes.front();
  mu_packed packed{};
  packed.packing = packing_of(first.params.mode);
  packed.bits = first.params.bits;
  packed.group_size = first.params.group_size;
  packed.scale_type = static_cast<int32_t>(plan.layout.scale_type);
  packed.rows = plan.rows;
  packed.columns = first.columns;
  packed.total_bytes = plan.layout.total_bytes();
  packed.weight_bytes = plan.layout.weight_bytes;
  packed.scales_offset = plan.layout.scales_offset();
  packed.scales_bytes = plan.layout.scales_bytes;
  packed.biases_offset = plan.layout.biases_offset();
  packed.biases_bytes = plan.layout.biases_bytes;
  return packed;
}

// Reads one part of every weight, in order. Returns the rest of the buffer.
Result<MutableBytes> read_parts(const Model& model, const Plan& plan, std::size_t plane, MutableBytes out) {
  for (const Weight* weight : plan.weights) {
    if (!weight->has_plane(plane)) continue;
    const Tensor& stored = *weight->planes[plane];
    MU_TRY(model.catalog().read(stored, 0, out.first(stored.bytes)));
    out = out.subspan(stored.bytes);
  }
  return out;
}

}  // namespace

mu_status mu_pack_layout(const mu_model* model, const uint64_t* weights, uint64_t count, uint32_t flags,
                         mu_packed* layout) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Plan plan, make_plan(model, weights, count, flags));
    if (layout == nullptr) return null_argument("layout");
    return give_struct(describe(plan), layout, offsetof(mu_packed, biases_bytes) + sizeof(layout->biases_bytes));
  });
}

mu_status mu_pack(const mu_model* model, const uint64_t* weights, uint64_t count, uint32_t flags, void* out,
                  uint64_t size, uint64_t* inexact) {
  return guarded([&]() -> Status {
    MU_ASSIGN(const Plan plan, make_plan(model, weights, count, flags));
    const auto total = checked_cast<std::size_t>(plan.layout.total_bytes());
    if (!total || size < *total) {
      return input_error("api-buffer",
                         fmt::format("the buffer has {} bytes, but {} are needed", size, plan.layout.total_bytes()));
    }
    u64 changed = 0;
    if (*total != 0) {
      if (out == nullptr) return null_argument("out");
      const MutableBytes buffer(static_cast<std::byte*>(out), *total);
      MU_ASSIGN(const MutableBytes behind_codes, read_parts(model->opened, plan, 0, buffer));
      MU_ASSIGN(const MutableBytes behind_scales, read_parts(model->opened, plan, 1, behind_codes));
      MU_TRY(read_parts(model->opened, plan, 2, behind_scales));
      if (plan.narrows) changed = mlx::bf16_to_f16_in_place(behind_codes);
    }
    if (inexact != nullptr) *inexact = changed;
    return {};
  });
}

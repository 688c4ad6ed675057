#include "model/safetensors_model.h"

#include <algorithm>

#include "arch/families.h"
#include "arch/layout_signs.h"
#include "base/checked_math.h"
#include "base/path.h"
#include "io/remote_address.h"
#include "model/checkpoint_shard.h"

namespace modelutils {

namespace {

std::string config_folder(const safetensors::ShardSet& set) {
  return set.is_directory ? set.path : folder_of(set.path);
}

void read_config(SafetensorsModel& model) {
  Result<std::optional<hf::Config>> config = hf::load_config(model.folder);
  if (!config) {
    model.config_error = std::move(config.error());
    return;
  }
  if (!*config) return;
  model.config = std::move(**config);
  model.quantization = mlx::read_quantization(*model.config);
  std::string& method = model.quantization.foreign_method;
  // NVIDIA's releases may state the method in a separate file.
  const bool is_silent = method.empty() && !model.quantization.declared && !model.quantization.has_blocks;
  if (is_silent && is_present(model.folder.file("hf_quant_config.json"))) method = "modelopt";
  model.foreign = read_foreign_method(*model.config, method);
}

bool names_quantization_parts(const safetensors::ShardSet& set) {
  return std::ranges::any_of(set.tensors, [&](safetensors::TensorRef ref) {
    const std::string_view name = set.tensor(ref).name;
    return name.ends_with(".scales") || name.ends_with(".biases");
  });
}

}  // namespace

Result<SafetensorsModel> open_safetensors_model(const std::string& path, ModulesWanted modules, OutsideLinks links,
                                                FolderFile opened, bool ignore_index) {
  SafetensorsModel model;
  MU_ASSIGN(model.set, safetensors::open_set(path, links, std::move(opened), ignore_index, read_checkpoint));
  model.folder = ModelFolder(config_folder(model.set), links);
  if (modules == ModulesWanted::none) return model;
  // For a single file at an address, read only that file.
  const bool is_alone = is_address(path) && !model.set.is_directory && !path.ends_with(".json");
  if (path != "-" && !is_alone) read_config(model);
  model.has_modules = modules == ModulesWanted::all || model.config || names_quantization_parts(model.set);
  if (!model.has_modules) return model;
  model.modules = find_stored_modules(tensor_refs(model.set), model.quantization, model.foreign);
  return model;
}

std::vector<mlx::TensorRef> tensor_refs(const safetensors::ShardSet& set) {
  std::vector<mlx::TensorRef> refs;
  refs.reserve(set.tensors.size());
  for (const safetensors::TensorRef ref : set.tensors) {
    const safetensors::Tensor& tensor = set.tensor(ref);
    refs.push_back({tensor.name, tensor.type, tensor.shape});
  }
  return refs;
}

Result<SafetensorsModel> open_shard_group(const std::string& path, OutsideLinks links) {
  SafetensorsModel model;
  MU_ASSIGN(model.set, safetensors::open_shards(path, links));
  model.folder = ModelFolder(model.set.folder, links);
  return model;
}

StatedLayout layout_of_tensors(const SafetensorsModel& model) {
  StatedLayout layout;
  const arch::Family* family = model.config ? arch::find_family(*model.config) : nullptr;
  if (family == nullptr) return layout;
  arch::LayoutSigns signs(*family, *model.config);
  for (const safetensors::TensorRef ref : model.set.tensors) {
    const safetensors::Tensor& tensor = model.set.tensor(ref);
    signs.see(tensor.name, tensor.shape);
  }
  layout.of_mlx = signs.of_mlx();
  layout.as_published = signs.as_published();
  return layout;
}

bool is_mlx(const SafetensorsModel& model) {
  const StatedLayout layout = layout_of_tensors(model);
  return layout.has_any() ? layout.is_mlx() : says_mlx(model);
}

bool says_mlx(const SafetensorsModel& model) {
  if (model.quantization.declared) return true;
  return std::ranges::any_of(model.set.metadata(), [](const safetensors::MetadataEntry& entry) {
    return entry.key == "format" && entry.value == "mlx";
  });
}

std::vector<bool> quantization_parts(const SafetensorsModel& model) {
  std::vector<bool> parts(model.set.tensors.size());
  for (const Module& module : model.modules.list) {
    module.for_each_part([&](std::size_t part) { parts[part] = true; });
  }
  return parts;
}

std::vector<u64> parameters_of_tensors(const SafetensorsModel& model) {
  const std::vector<bool> parts = quantization_parts(model);
  std::vector<u64> parameters(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!parts[i]) parameters[i] = model.set.tensor(model.set.tensors[i]).elements().value_or(0);
  }
  for (const Module& module : model.modules.list) {
    if (module.decodable) parameters[module.weight()] = checked_product(module.shape).value_or(0);
  }
  return parameters;
}

}  // namespace modelutils

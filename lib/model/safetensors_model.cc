#include "model/safetensors_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <deque>

#include "arch/families.h"
#include "arch/geometry.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/edit_journal.h"
#include "formats/pytorch/check_records.h"
#include "formats/pytorch/contiguous_source.h"
#include "formats/pytorch/parse.h"
#include "io/file_kind.h"
#include "io/remote_address.h"

namespace modelutils {

namespace {

/// The source of a file in a set. Owns the data to which names and shapes in the set's document refer.
class CheckpointSource : public pytorch::ContiguousSource {
 public:
  CheckpointSource(std::shared_ptr<ByteSource> file, std::shared_ptr<const pytorch::Document> checkpoint)
      : ContiguousSource(std::move(file), *checkpoint), checkpoint_(std::move(checkpoint)) {}

  const pytorch::Document& checkpoint() const { return *checkpoint_; }

 private:
  std::shared_ptr<const pytorch::Document> checkpoint_;
};

}  // namespace

Result<std::optional<safetensors::ShardContent>> read_checkpoint(std::shared_ptr<ByteSource> source, bool is_part) {
  std::optional<safetensors::ShardContent> content;
  if (!pytorch::is_checkpoint(read_head(*source, pytorch::recognition_bytes), source->name())) return content;
  MU_ASSIGN(pytorch::Document parsed, pytorch::parse(*source));
  const auto checkpoint = std::make_shared<const pytorch::Document>(std::move(parsed));
  auto contiguous = std::make_shared<CheckpointSource>(std::move(source), checkpoint);
  safetensors::Document document;
  document.name = checkpoint->name;
  document.file_size = contiguous->size();
  document.gathered_bytes = *contiguous->size() - checkpoint->file_size;
  document.complete = checkpoint->complete;
  document.findings = checkpoint->findings;
  document.storage = checkpoint;
  const std::string prefix = is_part && !checkpoint->wrapper.empty() ? checkpoint->wrapper + "." : std::string();
  document.tensors.reserve(checkpoint->tensors.size());
  for (std::size_t i = 0; i < checkpoint->tensors.size(); ++i) {
    const pytorch::Tensor& tensor = checkpoint->tensors[i];
    std::string_view name = tensor.name;
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    const u64 begin = contiguous->offset_of(i);
    document.tensors.push_back(
        {name, type_name(tensor.type), tensor.shape, begin, begin + tensor.bytes, tensor.pickle_offset, tensor.type});
  }
  document.names.reserve(document.tensors.size());
  for (const safetensors::Tensor& tensor : document.tensors) document.names.insert(tensor.name);
  content = safetensors::ShardContent{std::move(contiguous), std::move(document)};
  return content;
}

const pytorch::Document* checkpoint_of(const safetensors::ShardFile& file) {
  const auto* source = dynamic_cast<const CheckpointSource*>(file.source.get());
  return source == nullptr ? nullptr : &source->checkpoint();
}

void keep_checkpoint_checksums(const safetensors::ShardSet& set) {
  for (const safetensors::ShardFile& file : set.files) {
    if (auto* source = dynamic_cast<CheckpointSource*>(file.source.get())) source->keep_checksums();
  }
}

FindingLog check_checkpoint_records(const safetensors::ShardSet& set, unsigned threads) {
  FindingLog all;
  for (const safetensors::ShardFile& file : set.files) {
    auto* source = dynamic_cast<CheckpointSource*>(file.source.get());
    if (source == nullptr) continue;
    const std::unique_ptr<pytorch::ReadChecksums> read = source->take_checksums();
    auto findings = pytorch::check_records(source->file(), source->checkpoint(), *read, threads);
    FindingLog log;
    if (findings) {
      log = std::move(*findings);
    } else {
      log.add(without_path(findings.error(), Scope::data));
    }
    if (set.files.size() > 1) log.set_file(file.base_name);
    all.add_all(std::move(log));
  }
  return all;
}

namespace {

// Keeps a document's text beside the names with the folder in front.
struct RenamedTensors {
  std::shared_ptr<const void> original;
  std::vector<std::string> names;
};

Status add_dense_file(safetensors::ShardSet& set, const ModelFolder& folder, const std::string& path,
                      const std::string& name) {
  MU_ASSIGN(const FolderFile opened, open_in_folder(folder.path, name));
  if (opened.is_outside && folder.links == OutsideLinks::refuse) {
    return input_error("io-link-outside", "is a link out of the model's folder");
  }
  safetensors::ShardFile file{folder.file(name), name, opened.file, {}};
  MU_ASSIGN(std::optional<safetensors::ShardContent> checkpoint, read_checkpoint(opened.file, true));
  if (checkpoint) {
    file.source = std::move(checkpoint->source);
    file.document = std::move(checkpoint->document);
  } else {
    MU_ASSIGN(file.document, safetensors::parse(*opened.file));
  }
  auto renamed = std::make_shared<RenamedTensors>();
  renamed->original = file.document.storage;
  renamed->names.reserve(file.document.tensors.size());
  file.document.names = {};
  file.document.names.reserve(file.document.tensors.size());
  for (safetensors::Tensor& tensor : file.document.tensors) {
    renamed->names.push_back(fmt::format("{}.{}", path, tensor.name));
    tensor.name = renamed->names.back();
    file.document.names.insert(tensor.name);
  }
  file.document.storage = std::move(renamed);
  if (set.names.size() == 0) {
    set.names.reserve(set.tensors.size() + file.document.tensors.size());
    for (const safetensors::TensorRef ref : set.tensors) set.names.insert(set.tensor(ref).name);
  }
  const auto number = static_cast<u32>(set.files.size());
  set.files.push_back(std::move(file));
  set.files.back().is_apart = true;
  for (u32 entry = 0; entry < set.files.back().document.tensors.size(); ++entry) {
    const bool is_new = set.names.insert(set.files.back().document.tensors[entry].name).is_new;
    (is_new ? set.tensors : set.repeated).push_back({number, entry});
  }
  return {};
}

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

/// Adds the weights of dense layers after the model. Each has a folder; the names of its tensors get the folder's name
/// as prefix.
void open_dense_modules(SafetensorsModel& model) {
  constexpr std::string_view files[] = {"model.safetensors", "pytorch_model.bin"};
  for (const std::string& path : model.config->modules.dense) {
    const auto present = std::ranges::find_if(
        files, [&](std::string_view file) { return is_present(model.folder.file(fmt::format("{}/{}", path, file))); });
    const std::string name = fmt::format("{}/{}", path, present == std::end(files) ? files[0] : *present);
    const Status added = add_dense_file(model.set, model.folder, path, name);
    if (!added) model.set.findings.error(Scope::container, "st-shard-open", added.error().message, {}, {}, name);
  }
}

bool names_quantization_parts(const safetensors::ShardSet& set) {
  return std::ranges::any_of(set.tensors, [&](safetensors::TensorRef ref) {
    const std::string_view name = set.tensor(ref).name;
    return name.ends_with(".scales") || name.ends_with(".biases");
  });
}

}  // namespace

std::string dense_tensor(std::string_view folder) {
  return fmt::format("{}.linear.weight", folder);
}

namespace {

// Reports files whose header an edit in place has left half-written.
void report_interrupted_edits(safetensors::ShardSet& set) {
  for (const safetensors::ShardFile& file : set.files) {
    const RandomAccessFile* opened = file.source->as_file();
    if (opened == nullptr || set.has_checkpoints) continue;
    std::optional<Finding> finding = gguf::interrupted_edit(*opened, file.path);
    if (!finding) continue;
    constexpr std::string_view other = "gguf-edit --recover", own = "st-edit --recover";
    if (const std::size_t at = finding->message.find(other); at != std::string::npos) {
      finding->message.replace(at, other.size(), own);
    }
    finding->file = file.base_name;
    set.findings.add(std::move(*finding));
  }
}

}  // namespace

Result<SafetensorsModel> open_safetensors_model(const std::string& path, ModulesWanted modules, OutsideLinks links,
                                                FolderFile opened, bool ignore_index) {
  SafetensorsModel model;
  MU_ASSIGN(model.set, safetensors::open_set(path, links, std::move(opened), ignore_index, read_checkpoint));
  report_interrupted_edits(model.set);
  model.folder = ModelFolder(config_folder(model.set), links);
  if (modules == ModulesWanted::none) return model;
  // For a single file at an address, read only that file.
  const bool is_alone = is_address(path) && !model.set.is_directory && !path.ends_with(".json");
  if (path != "-" && !is_alone) read_config(model);
  if (model.config && model.set.is_directory) open_dense_modules(model);
  model.has_modules = modules == ModulesWanted::all || model.config || names_quantization_parts(model.set);
  if (!model.has_modules) return model;
  model.modules = find_stored_modules(tensor_refs(model.set), model.quantization, model.foreign);
  return model;
}

Result<SafetensorsModel> open_safetensors_stream(const std::string& path, std::shared_ptr<ByteSource> source) {
  SafetensorsModel model;
  MU_ASSIGN(model.set, safetensors::open_stream(path, std::move(source), read_checkpoint));
  report_interrupted_edits(model.set);
  model.folder = ModelFolder(config_folder(model.set));
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

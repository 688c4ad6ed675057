#include "model/model.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <unordered_map>

#include "arch/families.h"
#include "arch/names.h"
#include "base/log.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/bump/document.h"
#include "formats/gguf/document.h"
#include "formats/gguf/foreign_types.h"
#include "formats/hf/names.h"
#include "json/reader.h"
#include "model/forms/foreign_forms.h"
#include "tensor/types.h"

namespace modelutils {

u64 Weight::rows() const {
  return ne.empty() ? 1 : checked_product(std::span(ne).subspan(1)).value_or(0);
}

u64 Weight::bytes() const {
  u64 total = 0;
  for (const Tensor* plane : planes) total += plane->bytes;
  return total;
}

const Weight* Weights::of_codes(const Tensor& tensor) const {
  const auto found = std::ranges::lower_bound(list, &tensor, {}, [](const Weight& weight) { return weight.planes[0]; });
  return found == list.end() || found->planes[0] != &tensor ? nullptr : &*found;
}

std::string weight_name(const Module& module, std::string_view codes) {
  const bool is_packed = module.quantized && !codes.ends_with("_blocks");
  return is_packed ? hf::canonical_name(module.path) + ".weight" : hf::canonical_name(codes);
}

Weights settled_weights(const SafetensorsModel& model, const Catalog& catalog) {
  Weights weights;
  weights.parts = quantization_parts(model);
  const std::vector<mlx::TensorRef> refs = tensor_refs(model.set);
  const auto plane = [&](std::size_t place) { return catalog.plane_of(catalog.tensors[place]); };
  const auto is_lost = [&](std::size_t place) { return place != no_tensor && !catalog.tensors[place].is_readable(); };
  for (const Module& found : model.modules.list) {
    if (!found.quantized || !found.decodable || std::ranges::any_of(found.planes, is_lost)) continue;
    Module module = found;
    if (Status settled = settle_foreign_form(refs, model.foreign, plane, module); !settled) {
      if (!weights.broken) weights.broken = std::move(settled.error());
      continue;
    }
    Weight& weight = weights.list.emplace_back();
    weight.name = weight_name(module, catalog.tensors[module.weight()].name);
    weight.form = *module.form;
    weight.ne = reversed(module.shape);
    for (std::size_t i = 0; i < max_planes; ++i) {
      if (module.planes[i] != no_tensor) weight.planes[i] = &catalog.tensors[module.planes[i]];
    }
  }
  return weights;
}

namespace {

constexpr std::array<BumpConfigField, 8> fields = {{
    {"num_hidden_layers", &bump::Dimensions::layers},
    {"hidden_size", &bump::Dimensions::embed},
    {"intermediate_size", &bump::Dimensions::intermediate},
    {"num_attention_heads", &bump::Dimensions::heads},
    {"num_key_value_heads", &bump::Dimensions::kv_heads},
    {"vocab_size", &bump::Dimensions::vocab},
    {"max_position_embeddings", &bump::Dimensions::context},
    {"head_dim", &bump::Dimensions::head_dim},
}};

}  // namespace

std::span<const BumpConfigField> bump_config_fields() {
  return fields;
}

std::optional<BumpConfig> read_bump_config(const std::string& bump_path, FindingLog& log) {
  BumpConfig config;
  const auto document = json::load_if_present({folder_of(bump_path), OutsideLinks::warn}, "config.json", u64{16} << 20);
  if (!document) {
    log.add(without_path(document.error(), Scope::model, "config.json"));
    return config;
  }
  if (*document == nullptr) return std::nullopt;
  const json::Element root = (*document)->root;
  if (!root.is_object()) {
    log.error(Scope::model, "hf-config-not-object", "is not a JSON object", {}, {}, "config.json");
    return config;
  }
  for (const BumpConfigField& field : fields) {
    if (!json::member(root, field.key)) continue;
    const std::optional<u64> value = json::u64_member(root, field.key);
    if (value && *value != 0) {
      config.dimensions.*field.value = *value;
      continue;
    }
    log.error(Scope::model, "bump-config", "is not a whole number greater than 0", fmt::format("field {}", field.key),
              {}, "config.json");
  }
  bump::Dimensions& d = config.dimensions;
  if (!json::member(root, "num_key_value_heads")) d.kv_heads = d.heads;  // Hugging Face's default
  config.has_rope_scaling = json::member(root, "rope_scaling").has_value();
  return config;
}

struct Model::OnDemand {
  // Runs a function once, in the thread that comes first; others wait for it. If it throws, the next caller runs it
  // again. Not std::call_once, because exceptions cannot leave it if the unwinder is linked statically.
  class Once {
   public:
    template <typename Function>
    void run(const Function& function) {
      if (done_.load(std::memory_order_acquire)) return;
      const std::lock_guard lock(mutex_);
      if (done_.load(std::memory_order_relaxed)) return;
      function();
      done_.store(true, std::memory_order_release);
    }

   private:
    std::mutex mutex_;
    std::atomic<bool> done_ = false;
  };

  Once catalog_once, weights_once, names_once;
  Catalog catalog;
  Weights weights;
  std::optional<arch::Names> family;                    // of the family, if it is known
  std::unordered_map<std::string, std::size_t> places;  // indexes by the names of both conventions
};

namespace {

PathProbe probe_of(std::string path, Format format) {
  PathProbe probe;
  probe.path = std::move(path);
  probe.format = format;
  return probe;
}

}  // namespace

Model::Model() : Model(probe_of({}, Format::gguf)) {}
Model::Model(PathProbe found) : format(*found.format), probe(std::move(found)), on_demand_(new OnDemand) {}
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;
Model::~Model() = default;

Model::Model(gguf::SplitSet set, std::string path) : Model(probe_of(std::move(path), Format::gguf)) {
  gguf = std::move(set);
}

Model::Model(SafetensorsModel opened)
    : Model(probe_of(opened.set.path, opened.is_model_directory() ? Format::mlx : Format::safetensors)) {
  safetensors = std::move(opened);
}

Model::Model(std::shared_ptr<const quantize::ImportanceMatrix> matrix, std::string path)
    : Model(probe_of(std::move(path), Format::imatrix)) {
  importance = std::move(matrix);
}

const hf::Config* Model::config() const {
  return safetensors && safetensors->config ? &*safetensors->config : nullptr;
}

std::string Model::architecture() const {
  if (gguf) return std::string(gguf::Index(gguf->files.front().document).architecture());
  const hf::Config* stated = config();
  if (stated == nullptr) return {};
  return stated->architecture.empty() ? stated->model_type : stated->architecture;
}

FindingLog Model::findings() const {
  if (safetensors) return safetensors->set.all_findings();
  if (!gguf) return {};
  FindingLog log(gguf->findings);
  for (const gguf::SetFile& file : gguf->files) log.add_all(file.document.findings);
  return log;
}

const Catalog& Model::catalog() const {
  on_demand_->catalog_once.run([this] {
    Catalog& catalog = on_demand_->catalog;
    if (gguf) catalog = catalog_of(*gguf);
    if (safetensors) catalog = catalog_of(safetensors->set);
    if (importance) catalog = catalog_of(*importance);
    catalog.format = format;
  });
  return on_demand_->catalog;
}

std::size_t Model::place_of(const Tensor& tensor) const {
  return static_cast<std::size_t>(&tensor - catalog().tensors.data());
}

const Weights& Model::weights() const {
  on_demand_->weights_once.run([this] {
    if (safetensors) on_demand_->weights = settled_weights(*safetensors, catalog());
  });
  return on_demand_->weights;
}

const Weight* Model::weight_of(const Tensor& tensor) const {
  return weights().of_codes(tensor);
}

std::span<const u64> Model::ne_of(const Tensor& tensor) const {
  const Weight* weight = weight_of(tensor);
  return weight != nullptr ? std::span<const u64>(weight->ne) : tensor.ne;
}

std::vector<u64> Model::in_file_order(std::span<const u64> ne) const {
  return safetensors ? reversed(ne) : std::vector<u64>(ne.begin(), ne.end());
}

u64 Model::elements_of(const Tensor& tensor) const {
  return checked_product(ne_of(tensor)).value_or(0);
}

namespace {

// Returns the entry of a tensor of the catalog, which has the entries in the order of the files.
const gguf::TensorInfo& entry_at(const gguf::SplitSet& set, std::size_t place) {
  std::size_t file = 0;
  for (; place >= set.files[file].document.tensors.size(); ++file) place -= set.files[file].document.tensors.size();
  return set.files[file].document.tensors[place];
}

}  // namespace

std::string Model::type_text(const Tensor& tensor) const {
  if (gguf && !tensor.type) return gguf::type_text(entry_at(*gguf, place_of(tensor)));
  const Weight* weight = weight_of(tensor);
  const StoredForm form = weight != nullptr ? weight->form : catalog().form_of(tensor);
  return form_info(form).text(form);
}

MatrixValues Model::values_of(const Tensor& tensor) const {
  const Weight* weight = weight_of(tensor);
  if (weight == nullptr) return catalog().values_of(tensor);
  return MatrixValues(stored(*weight), tensor.name, catalog().files[tensor.file].path);
}

StoredMatrix Model::stored(const Weight& weight) const {
  StoredMatrix matrix;
  matrix.form = weight.form;
  matrix.elements = checked_product(weight.ne).value_or(0);
  matrix.columns = weight.columns();
  for (std::size_t i = 0; i < max_planes; ++i) {
    if (weight.has_plane(i)) matrix.planes[i] = catalog().plane_of(*weight.planes[i]);
  }
  return matrix;
}

const Model::OnDemand& Model::names() const {
  on_demand_->names_once.run([this] {
    const arch::Family* family = nullptr;
    if (gguf) family = arch::find_family(gguf::Index(gguf->files.front().document));
    if (const hf::Config* stated = config()) family = arch::find_family(*stated);
    std::optional<arch::Names>& names = on_demand_->family;
    if (family != nullptr) names.emplace(*family);
    auto& places = on_demand_->places;
    places.reserve(catalog().tensors.size());
    for (const Tensor& tensor : catalog().tensors) {
      if (tensor.is_readable()) places.emplace(tensor.name, place_of(tensor));
    }
    // Names in the file take precedence over derived ones, so add these second.
    for (const Tensor& tensor : catalog().tensors) {
      if (!tensor.is_readable()) continue;
      const auto add = [&](std::optional<std::string> name) {
        if (name) places.emplace(std::move(*name), place_of(tensor));
      };
      if (gguf) {
        if (names) add(names->source_tensor(tensor.name));
        continue;
      }
      std::string canonical = hf::canonical_name(tensor.name);
      if (names) add(names->gguf_tensor(names->spelled(canonical)));
      add(std::move(canonical));
    }
  });
  return *on_demand_;
}

const Tensor* Model::find(std::string_view name) const {
  const auto& places = names().places;
  const auto found = places.find(std::string(name));
  return found == places.end() ? nullptr : &catalog().tensors[found->second];
}

std::optional<std::string> Model::gguf_name(const Tensor& tensor) const {
  if (gguf) return std::string(tensor.name);
  const std::optional<arch::Names>& family = names().family;
  if (!family || is_part(tensor)) return std::nullopt;
  return family->gguf_tensor(family->spelled(hf::canonical_name(tensor.name)));
}

Result<Model> open_model(PathProbe probe) {
  Model model(std::move(probe));
  const PathProbe& found = model.probe;
  log_info("{} is {}", found.path, format_info(model.format).noun);
  switch (model.format) {
    case Format::gguf: {
      MU_ASSIGN(model.gguf, gguf::open_set(found.path, found.links, found.opened.file));
      break;
    }
    case Format::mlx: {
      MU_ASSIGN(model.safetensors,
                open_safetensors_model(found.path, ModulesWanted::if_quantized, found.links, {}, found.ignore_index));
      break;
    }
    case Format::pytorch:
    case Format::safetensors: {
      if (found.is_shard_group) {
        MU_ASSIGN(model.safetensors, open_shard_group(found.path, found.links));
        break;
      }
      MU_ASSIGN(model.safetensors,
                open_safetensors_model(found.path, ModulesWanted::none, found.links, found.opened, found.ignore_index));
      break;
    }
    case Format::bump: {
      MU_ASSIGN(bump::Document document, bump::parse_ignoring_magic(*found.opened.file));
      model.bump = BumpModel{found.opened.file, std::move(document)};
      break;
    }
    case Format::bump4:
    case Format::bump5: {
      MU_ASSIGN(bump5::Document document, bump5::parse(*found.opened.file));
      model.bump5 = Bump5Model{found.opened.file, std::move(document)};
      break;
    }
    case Format::imatrix: {
      MU_ASSIGN(model.importance, quantize::ImportanceMatrix::read(found.opened.file, found.path));
      break;
    }
  }
  return model;
}

namespace {

Result<Model> open_for_values(const std::string& path) {
  MU_ASSIGN(PathProbe probe, probe_path(path, OutsideLinks::warn));
  if (probe.format == Format::gguf) {
    MU_ASSIGN(gguf::SplitSet set, gguf::open_set(path, probe.links, std::move(probe.opened.file)));
    return Model(std::move(set), path);
  }
  MU_ASSIGN(SafetensorsModel opened,
            open_safetensors_model(path, ModulesWanted::if_quantized, probe.links, std::move(probe.opened)));
  if (opened.config_error && opened.set.is_directory) return tl::make_unexpected(std::move(*opened.config_error));
  return Model(std::move(opened));
}

}  // namespace

Result<Model> open_sound_model(const std::string& path) {
  MU_ASSIGN(Model model, open_for_values(path));
  const FindingLog findings = model.findings();
  if (const Finding* broken = first_container_error(findings)) {
    Error error = with_path(*broken, path);
    error.message = broken->message;
    return tl::make_unexpected(std::move(error));
  }
  return model;
}

}  // namespace modelutils

#include "convert/to_gguf/projector_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "arch/key_writer.h"
#include "arch/projectors.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "convert/to_gguf/tower_mapper.h"
#include "convert/to_gguf/tower_sources.h"
#include "formats/hf/names.h"
#include "formats/hf/projector_config.h"
#include "model/catalog.h"

namespace modelutils {

namespace {

tl::unexpected<Error> refuse(const std::string& where, std::string message, std::string field = {}) {
  return input_error("convert-projector", std::move(message), std::move(field), {}, where);
}

std::vector<const arch::ProjectorFamily*> towers_of_class(const hf::Config& config) {
  std::vector<const arch::ProjectorFamily*> towers = arch::find_projector_families(config.architecture, config);
  if (towers.empty()) towers = arch::find_projector_families(hf::class_of_model(config), config);
  return towers;
}

// Returns the towers that config.json describes.
Result<std::vector<const arch::ProjectorFamily*>> find_towers(const hf::Config& config, const std::string& directory) {
  const std::string own(hf::class_of_model(config));
  std::vector<const arch::ProjectorFamily*> towers = towers_of_class(config);
  bool is_stated = false;
  for (const std::string_view name : {"vision_config", "audio_config"}) {
    const auto field = config.field(name);
    if (field && !field->is_object()) return refuse(directory, "is not an object", std::string(name));
    is_stated = is_stated || field;
  }
  if (towers.empty()) {
    const arch::UnknownProjector* unknown = arch::find_unknown_projector(own);
    if (unknown == nullptr) unknown = arch::find_unknown_projector(config.architecture);
    if (unknown != nullptr) {
      return refuse(directory, fmt::format("the projector of '{}' ({}) cannot be converted", own, unknown->name),
                    "architectures");
    }
    if (!is_stated) {
      return refuse(directory,
                    "is a text model: config.json has neither a vision_config nor an audio_config, so there "
                    "is no projector");
    }
    return refuse(directory, fmt::format("'{}' has no known vision or audio projector (docs/architectures.md)", own),
                  "architectures");
  }
  for (const arch::ProjectorFamily* tower : towers) {
    const std::string name = std::string(tower->encoder) + "_config";
    if (config.field(name)) continue;
    return refuse(directory, fmt::format("has no {}, so there is no {} tower", name, tower->encoder), name);
  }
  return towers;
}

// The keys that state which encoders the file has, and their types.
void add_type_keys(const std::vector<MappedTower>& towers, std::vector<gguf::OutKey>& keys) {
  for (const MappedTower& tower : towers) {
    const auto encoder = std::ranges::find(arch::encoders, tower.family->encoder, &arch::Encoder::name);
    keys.push_back(gguf::make_key_bool(std::string(encoder->flag), true));
  }
  const arch::ProjectorFamily& first = *towers.front().family;
  if (towers.size() == 1 ? !first.own_type_key : !first.joint_type.empty()) {
    keys.push_back(
        gguf::make_key_string("clip.projector_type", first.joint_type.empty() ? first.rows.name : first.joint_type));
    return;
  }
  for (const MappedTower& tower : towers) {
    keys.push_back(
        gguf::make_key_string(fmt::format("clip.{}.projector_type", tower.family->encoder), tower.family->rows.name));
  }
}

// True if a tensor belongs neither to the language model nor to blocks that predict further tokens.
bool is_of_other_part(std::string_view name) {
  const std::string canonical = hf::canonical_name(name);
  const hf::NameClass kind = hf::classify_name(canonical);
  if (kind != hf::NameClass::keep) return kind == hf::NameClass::other_modality;
  constexpr std::array<std::string_view, 6> of_text = {"model.",        "lm_head", "layers.",
                                                       "embed_tokens.", "norm.",   "score."};
  return std::ranges::none_of(of_text, [&](std::string_view start) { return canonical.starts_with(start); });
}

struct FoundTower {
  const arch::ProjectorFamily* family;
  TowerRoots roots;
};

// Maps the towers of a directory with a config. Ends at the first fault, or logs it and goes on where it can.
Result<ProjectorMap> map_towers(std::shared_ptr<const Model> from, std::optional<TensorType> type, FaultLog faults) {
  const SafetensorsModel& opened = *from->safetensors;
  const std::string& directory = opened.set.path;
  ProjectorMap result;
  MU_ASSIGN(result.config, hf::load_projector_config(opened.folder, *opened.config));
  MU_ASSIGN(const std::vector<const arch::ProjectorFamily*> families, find_towers(result.config, directory));
  std::vector<std::string_view> all;
  for (const Tensor& tensor : from->catalog().tensors) all.push_back(tensor.name);
  std::vector<FoundTower> found;
  for (const arch::ProjectorFamily* family : families) {
    Result<TowerRoots> roots = find_roots(*family, all, directory);
    MU_TRY(faults.judge(roots));
    if (roots) found.push_back({family, std::move(*roots)});
  }
  if (found.empty()) return result;
  const auto is_wanted = [&](std::string_view name) {
    for (const FoundTower& tower : found) {
      std::size_t number = 0;
      for (const std::string_view text : tower.family->roots) {
        const std::optional<std::string>& root = tower.roots[number++];
        if (!root || !name.starts_with(*root)) continue;
        // Of the text model's tensors, keeps only the embedding, and only if a row uses it.
        if (!text.starts_with('~') || name.substr(root->size()).starts_with("embed_tokens.")) return true;
      }
    }
    return false;
  };
  MU_ASSIGN(result.model, understand_part(std::move(from), found.front().family->rows, is_wanted));
  std::map<std::string_view, std::size_t> names;
  for (std::size_t i = 0; i < result.model->matrices.size(); ++i) names.emplace(result.model->matrices[i].name, i);
  std::vector<bool> used(result.model->matrices.size(), false);
  for (FoundTower& tower : found) {
    const TowerSource source{*result.model, names, *tower.family, result.config};
    Result<arch::Sizes> sizes = map_tower(source, std::move(tower.roots), type, faults, result.map, used);
    MU_TRY(faults.judge(sizes));
    if (sizes) result.towers.push_back({tower.family, std::move(*sizes)});
  }
  if (result.towers.empty()) return result;
  result.map.sizes = result.towers.front().sizes;
  add_type_keys(result.towers, result.keys);
  for (const MappedTower& tower : result.towers) {
    Result<arch::ModelKeys> made =
        arch::write_keys(tower.family->rows, result.config, tower.sizes, result.model->is_mlx);
    MU_TRY(faults.judge(made));
    if (!made) continue;
    for (gguf::OutKey& key : made->keys) {
      const bool is_known =
          std::ranges::any_of(result.keys, [&](const gguf::OutKey& other) { return other.key == key.key; });
      if (!is_known) result.keys.push_back(std::move(key));
    }
    result.map.remarks.add_all(made->remarks);
  }
  return result;
}

}  // namespace

bool has_towers(const Model& model) {
  if (!model.safetensors || !model.safetensors->config || !model.safetensors->is_model_directory()) return false;
  const hf::Config& config = *model.safetensors->config;
  const bool is_stated = !arch::find_projector_families(config.architecture, config).empty() ||
                         std::ranges::any_of(std::array<std::string_view, 4>{"vision_config", "audio_config",
                                                                             "thinker_config.vision_config",
                                                                             "thinker_config.audio_config"},
                                             [&](std::string_view name) { return config.field(name).has_value(); });
  return is_stated && std::ranges::any_of(model.catalog().tensors,
                                          [](const Tensor& tensor) { return is_of_other_part(tensor.name); });
}

Result<ProjectorMap> map_projector(std::shared_ptr<const Model> from, std::optional<TensorType> type) {
  const SafetensorsModel& opened = *from->safetensors;
  if (opened.config_error) return tl::make_unexpected(*opened.config_error);
  if (!opened.config) {
    return input_error("convert-no-config",
                       "has no config.json, so the kind of model is unknown; pass the model's directory", {}, {},
                       opened.set.path);
  }
  return map_towers(std::move(from), type, FaultLog(nullptr));
}

FindingLog check_towers(const Model& opened) {
  FindingLog log;
  if (!has_towers(opened)) return log;
  const SafetensorsModel& directory = *opened.safetensors;
  const auto add = [&](const Error& error, Severity severity) {
    const bool is_of_file = error.file != directory.set.path;
    Finding finding = without_path(error, Scope::model, is_of_file ? base_name_of(error.file) : std::string());
    finding.severity = severity;
    log.add(std::move(finding));
  };
  const auto config = hf::load_projector_config(directory.folder, *directory.config);
  if (!config) {
    add(config.error(), Severity::error);
    return log;
  }
  if (towers_of_class(*config).empty()) {
    log.note(Scope::model, "convert-projector",
             fmt::format("'{}' has no known vision or audio projector: the towers are not checked",
                         hf::class_of_model(*config)),
             at_field("architectures"));
    return log;
  }
  // Forms of quantised modules that cannot be converted have findings of their own.
  const auto mapped = map_towers(std::shared_ptr<const Model>(std::shared_ptr<void>(), &opened), {}, FaultLog(&log));
  if (mapped) return log;
  const bool is_of_form = mapped.error().code == "convert-foreign-method" || mapped.error().code == "convert-module";
  add(mapped.error(), is_of_form ? Severity::note : Severity::error);
  return log;
}

}  // namespace modelutils

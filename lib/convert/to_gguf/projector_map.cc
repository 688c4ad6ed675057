#include "convert/to_gguf/projector_map.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <unordered_set>

#include "arch/key_writer.h"
#include "arch/projectors.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "convert/to_gguf/part_placer.h"
#include "convert/to_gguf/rows.h"
#include "convert/to_gguf/tower_sources.h"
#include "formats/hf/names.h"
#include "formats/hf/projector_config.h"
#include "model/catalog.h"
#include "tokenizer/read/files.h"
#include "tokenizer/read/vocabulary.h"

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

// Returns the id of a token that the tokenizer's files add; nullopt if there is none.
Result<std::optional<u64>> find_token(const ModelFolder& folder, std::string_view text, u64 rows) {
  MU_ASSIGN(const tokenizer::TokenizerFiles files, tokenizer::load_tokenizer_files(folder));
  FindingLog said;
  MU_ASSIGN(const tokenizer::AddedTokens added, tokenizer::collect_added_tokens(files, rows, said));
  const auto found = std::ranges::find(added.tokens, text, &tokenizer::AddedToken::content);
  return found == added.tokens.end() ? std::nullopt : std::optional(u64{found->id});
}

// The position table that Whisper adds to its input: sines and cosines of decreasing frequencies.
std::vector<float> sinusoids(u64 width, u64 rows) {
  const u64 half = width / 2;
  const double step = std::log(10000.0) / static_cast<double>(std::max<u64>(half, 2) - 1);
  std::vector<float> table(static_cast<std::size_t>(width * rows));
  for (u64 row = 0; row < rows; ++row) {
    for (u64 i = 0; i < half; ++i) {
      const double angle = static_cast<double>(row) * std::exp(-step * static_cast<double>(i));
      table[static_cast<std::size_t>(row * width + i)] = static_cast<float>(std::sin(angle));
      table[static_cast<std::size_t>(row * width + half + i)] = static_cast<float>(std::cos(angle));
    }
  }
  return table;
}

// Faults of towers: the first one ends a conversion, a check logs all of them.
class FaultLog {
 public:
  explicit FaultLog(FindingLog* log) : log_(log) {}
  bool is_kept() const { return log_ != nullptr; }

  /// Returns the error unless it is logged.
  Status judge(Status status) const {
    if (status || log_ == nullptr) return status;
    log_->add(without_path(status.error(), Scope::model));
    return {};
  }
  template <typename T>
  Status judge(const Result<T>& result) const {
    return result ? Status() : judge(Status(tl::make_unexpected(result.error())));
  }

 private:
  FindingLog* log_;
};

class TowerMapper {
 public:
  TowerMapper(const HfModel& model, const std::map<std::string_view, std::size_t>& names,
              const arch::ProjectorFamily& family, const hf::Config& config, TowerRoots roots,
              std::optional<TensorType> type, FaultLog faults)
      : model_(model),
        names_(names),
        family_(family),
        config_(config),
        type_(type),
        faults_(faults),
        sources_(model, names, family, config, std::move(roots)),
        placer_(model, family.rows) {}

  /// Adds the tower's tensors to `map`, and marks the matrices that it uses.
  Result<arch::Sizes> add_to(TensorMap& map, std::vector<bool>& used) {
    arch::Sizes known;
    known.set("mlx", model_.is_mlx ? 1 : 0);
    known.set("hf", model_.is_mlx ? 0 : 1);
    known.set("back", 0);
    MU_TRY(set_token(known));
    MU_ASSIGN(sizes_, sources_.solve(std::move(known)));
    MU_TRY(faults_.judge(arch::refuse_unsupported(family_.rows, config_, sizes_)));
    MU_ASSIGN(const std::vector<arch::TowerTensor> all, sources_.expected(sizes_));
    for (const arch::TowerTensor& tensor : all) MU_TRY(faults_.judge(place(tensor, map, used)));
    MU_TRY(faults_.judge(refuse_partly_missing()));
    MU_TRY(faults_.judge(refuse_leftovers(used, map)));
    return sizes_;
  }

 private:
  tl::unexpected<Error> fail(std::string code, const std::string& source, std::string message) const {
    return input_error(std::move(code), std::move(message), at_tensor(source), {}, model_.directory);
  }

  // Returns the tensor's name in the projector file; in a list of findings nothing, so that alike ones are counted.
  std::string target_text(std::string_view before, const arch::TowerTensor& tensor, std::string_view after) const {
    return faults_.is_kept() ? std::string() : fmt::format("{}{}{}", before, tensor.name, after);
  }

  Status set_token(arch::Sizes& known) const {
    if (family_.token.empty()) return {};
    MU_ASSIGN(const std::optional<u64> id, find_token(model_.opened().folder, family_.token, ~u64{0}));
    if (!id) {
      return refuse(
          model_.directory,
          fmt::format("has no token '{}', whose embedding llama.cpp needs in the projector file", family_.token));
    }
    known.set("B", *id);
    return {};
  }

  Status place(const arch::TowerTensor& tensor, TensorMap& map, std::vector<bool>& used) {
    if (const std::string_view generator = arch::generator_of(*tensor.row); !generator.empty()) {
      MappedTensor made;
      made.name = tensor.name;
      made.ne = tensor.ne;
      made.must_be_f32 = made.is_whole = true;
      made.values = sinusoids(tensor.ne.front(), tensor.ne.back());
      map.tensors.push_back(std::move(made));
      return {};
    }
    arch::Sizes flipped;  // for a directory whose layout is not the expected one
    const arch::Sizes* sizes = &sizes_;
    TowerSources::Found found = sources_.find(tensor, sizes_);
    const std::string source = sources_.source_name(tensor, sizes_);
    if (tensor.need == arch::Need::optional) {
      Presence& presence = optional_[{tensor.group, tensor.row, tensor.side}];
      ++(found.parts.empty() ? presence.absent : presence.present);
      if (found.parts.empty() && presence.first_absent.empty()) presence.first_absent = source;
    }
    if (found.parts.empty()) {
      if (tensor.need != arch::Need::required) return {};
      return fail("convert-missing", source,
                  fmt::format("is missing; {} needs it{}", family_.rows.name, target_text(" for ", tensor, "")));
    }
    // Also one of another shape, which would otherwise have no place either.
    for (const PartMatrices* each : found.parts) used[each->begin()->second] = true;
    if (tensor.ne.empty()) {
      return fail("convert-config", source, "has a shape that does not follow from config.json");
    }
    const Weight& matrix = model_.matrices[found.parts.front()->begin()->second];
    if (tensor.side == arch::Side::weight && !tensor.row->stored.empty()) {
      const auto fits = [&](const arch::Sizes& with) {
        return stored_shape(*tensor.row, with, tensor.layer) == reversed(matrix.ne);
      };
      if (!fits(sizes_)) {
        flipped = sizes_;
        flipped.set("mlx", model_.is_mlx ? 0 : 1);
        flipped.set("hf", model_.is_mlx ? 1 : 0);
        if (!fits(flipped)) return wrong_shape(tensor, matrix);
        sizes = &flipped;
        found = sources_.find(tensor, flipped);
      }
    }
    arch::ExpectedTensor expected = tensor;
    const arch::SourcePart& part = found.alternative->parts.front();
    // A vector keeps its dimensions of 1.
    if (expected.ne.size() == 1 && part.view.empty() && !matrix.is_quantized() && matrix.ne.size() > 1 &&
        element_count(matrix.ne) == expected.ne.front()) {
      const auto wide = std::ranges::count_if(matrix.ne, [](u64 size) { return size != 1; });
      if (wide <= 1) expected.ne = matrix.ne;
    }
    Result<MappedTensor> made = placer_.make(expected, *found.alternative, found.parts, *sizes);
    if (!made)
      return made.error().code == "convert-shape" ? Status(wrong_shape(tensor, matrix))
                                                  : Status(tl::make_unexpected(made.error()));
    choose_type(tensor, *made);
    map.tensors.push_back(std::move(*made));
    return {};
  }

  // Chooses the type that the runtime accepts: F32 for vectors and tables, F32 or F16 for convolution kernels, any type
  // for matrices.
  void choose_type(const arch::TowerTensor& tensor, MappedTensor& made) const {
    if (made.is_whole || made.must_be_f32 || tensor.must_be_f32) {
      made.must_be_f32 = true;
      return;
    }
    if (!type_) {
      made.must_be_f32 = tensor.is_kernel;
      return;
    }
    constexpr u64 block = 32;
    if (tensor.is_kernel) {
      made.type = type_ == TensorType::F16 ? TensorType::F16 : TensorType::F32;
    } else {
      made.type = type_ == TensorType::Q8_0 && made.columns() % block != 0 ? TensorType::F16 : *type_;
    }
  }

  // Lists the settings that determine a shape.
  tl::unexpected<Error> wrong_shape(const arch::TowerTensor& tensor, const Weight& matrix) const {
    std::vector<u64> wanted = reversed(tensor.ne);
    std::string_view text = tensor.row->ne;
    if (const auto stored = stored_shape(*tensor.row, sizes_, tensor.layer);
        stored && tensor.side == arch::Side::weight) {
      wanted = *stored;
      text = tensor.row->stored;
    }
    std::string fields;
    std::unordered_set<std::string_view> seen;
    for (const arch::Key* key : arch::keys_of(family_.rows)) {
      if (key->symbol.empty() || key->fields.empty() || !names_symbol(text, key->symbol)) continue;
      const std::string_view field = arch::stated_field(config_, key->fields);
      if (!seen.insert(field).second) continue;
      fields += fmt::format("{}{} {}", fields.empty() ? "" : ", ", field, sizes_.get(key->symbol));
    }
    const TowerSources::Found found = sources_.find(tensor, sizes_);
    const bool is_part =
        found.alternative != nullptr && !found.alternative->parts.front().view.empty() && tensor.row->stored.empty();
    return fail(
        "convert-shape", matrix.name,
        fmt::format("has shape {}, but {} of shape {}{}{}", shape_text(reversed(matrix.ne)),
                    is_part ? "makes a tensor" : "should be", shape_text(wanted), target_text(" (", tensor, ")"),
                    fields.empty() ? "" : ", as config.json implies: " + fields));
  }

  // True if an expression contains the symbol.
  static bool names_symbol(std::string_view text, std::string_view symbol) {
    for (std::size_t at = text.find(symbol); at != std::string_view::npos; at = text.find(symbol, at + 1)) {
      const auto is_word = [&](std::size_t i) {
        return i < text.size() && (arch::is_letter(text[i]) || arch::is_digit(text[i]));
      };
      if ((at == 0 || !is_word(at - 1)) && !is_word(at + symbol.size())) return true;
    }
    return false;
  }

  // An optional tensor must be absent in all layers or in none.
  Status refuse_partly_missing() const {
    for (const auto& [key, presence] : optional_) {
      if (presence.present == 0 || presence.absent == 0) continue;
      return fail("convert-missing", presence.first_absent, "is missing, but other layers have it");
    }
    return {};
  }

  bool may_be_left_out(std::string_view name) const {
    if (name.ends_with("position_ids") || hf::classify_name(name) == hf::NameClass::derived) return true;
    for (const auto& root : sources_.roots()) {
      if (!root || !name.starts_with(*root)) continue;
      const std::string_view rest = name.substr(root->size());
      bool is_named = false;
      for_each_name(family_.left_out, [&](std::string_view prefix) {
        is_named = is_named || rest.starts_with(prefix) || (std::string(rest) + ".").starts_with(prefix);
      });
      if (is_named) return true;
      if (family_.last_layers.empty()) continue;
      const std::optional<arch::LayerName> layer = arch::layer_name(rest, family_.last_layers);
      if (layer && layer->layer >= sizes_.get("L")) return true;
    }
    return false;
  }

  Status refuse_leftovers(std::vector<bool>& used, TensorMap& map) const {
    std::vector<std::string> unknown;
    std::size_t number = 0;
    for (const std::string_view text : family_.roots) {
      const std::optional<std::string>& root = sources_.roots()[number++];
      if (!root || text.starts_with('~')) continue;
      for (auto at = names_.lower_bound(*root); at != names_.end() && at->first.starts_with(*root); ++at) {
        if (used[at->second]) continue;
        used[at->second] = true;
        if (may_be_left_out(at->first)) {
          map.left_out.push_back({std::string(at->first), LeftOutReason::computed});
        } else {
          unknown.emplace_back(at->first);
        }
      }
    }
    if (unknown.empty()) return {};
    constexpr std::size_t shown = 10;
    std::string list;
    for (std::size_t i = 0; i < std::min(shown, unknown.size()); ++i) list += (i > 0 ? ", " : "") + unknown[i];
    if (unknown.size() > shown) list += fmt::format(" and {} more", unknown.size() - shown);
    return input_error(
        "convert-unmapped",
        fmt::format("{} of the {} tower {} no place in a projector of type {} with {}: {}",
                    counted(unknown.size(), "tensor"), family_.encoder, verb(unknown.size(), "has", "have"),
                    family_.rows.name, counted(sizes_.get("L"), "block"), list),
        {}, {}, model_.directory);
  }

  struct Presence {
    u64 present = 0, absent = 0;
    std::string first_absent;
  };

  const HfModel& model_;
  const std::map<std::string_view, std::size_t>& names_;
  const arch::ProjectorFamily& family_;
  const hf::Config& config_;
  std::optional<TensorType> type_;
  FaultLog faults_;
  TowerSources sources_;
  PartPlacer placer_;
  arch::Sizes sizes_;
  std::map<std::tuple<std::size_t, const arch::Tensor*, arch::Side>, Presence> optional_;
};

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
    TowerMapper mapper(*result.model, names, *tower.family, result.config, std::move(tower.roots), type, faults);
    Result<arch::Sizes> sizes = mapper.add_to(result.map, used);
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

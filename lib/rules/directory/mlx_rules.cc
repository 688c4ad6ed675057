#include "rules/directory/mlx_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "arch/families.h"
#include "arch/names.h"
#include "formats/hf/config_members.h"
#include "formats/hf/names.h"
#include "json/reader.h"
#include "rules/chat_template.h"
#include "rules/safetensors/rules.h"
#include "template/prompt_text.h"
#include "tokenizer/read/files.h"
#include "tokenizer/read/read_tokenizer.h"
#include "tokenizer/read/vocabulary.h"

namespace modelutils {

namespace mlx_rules {

namespace {

constexpr std::string_view embedding_row = "token_embd";  // the row's name in lib/arch

}  // namespace

const Module* embedding_of(const SafetensorsModel& model) {
  std::vector<std::string_view> names = {"model.embed_tokens"};
  const arch::Family* family = model.config ? arch::find_family(*model.config) : nullptr;
  if (family != nullptr) {
    const auto row = std::ranges::find(family->first_tensors, embedding_row, &arch::Tensor::name);
    if (row == family->first_tensors.end()) return nullptr;
    names.clear();
    for (const arch::SourceAlternative& alternative : arch::parse_source(row->source)) {
      names.push_back(alternative.parts.front().module);
    }
  }
  std::optional<arch::Names> spellings;
  for (const Module& module : model.modules.list) {
    // Names may lack their first parts, but not the last.
    const bool may_be = std::ranges::any_of(
        names, [&](std::string_view name) { return module.path.ends_with(name.substr(name.rfind('.') + 1)); });
    if (!may_be) continue;
    const std::string canonical = hf::canonical_name(module.path);
    if (std::ranges::count(names, canonical) > 0) return &module;
    if (family == nullptr) continue;
    if (!spellings) spellings.emplace(*family);
    const std::string spelled = spellings->spelled(canonical + ".weight");
    if (std::ranges::count(names, std::string_view(spelled).substr(0, spelled.size() - 7)) > 0) return &module;
  }
  return nullptr;
}

namespace {

// True if config.json must have one of the key's fields because nothing else determines the value.
bool states_it_alone(const arch::Key& key) {
  const bool is_size_of_all = key.symbol == arch::symbol::feed_forward || key.symbol == arch::symbol::vocabulary;
  return !key.fields.empty() && key.fallback.empty() && key.when.empty() && key.write == nullptr &&
         key.derive == nullptr && key.derive_layers == nullptr && (key.need == arch::Need::required || is_size_of_all);
}

}  // namespace

void check_fields(const SafetensorsModel& model, FindingLog& log) {
  const hf::Config& config = *model.config;
  const bool whole = embedding_of(model) != nullptr;
  // A field of the wrong type already has a finding (hf-config-field).
  if (config.model_type.empty() && config.field("model_type") && !config.string_field("model_type")) return;
  if (config.model_type.empty() && config.string_field("_class_name")) return;  // a component of a diffusers pipeline
  // transformers finds a class that brings its own code (CogVLM's) by auto_map, without a model_type.
  const bool has_class = config.field("auto_map") && arch::find_family(config) != nullptr;
  if (config.model_type.empty() && !has_class) {
    log.add(whole ? Severity::error : Severity::note, Scope::model, "hf-config-missing",
            "is missing: the kind of model cannot be determined", at_field("model_type"));
    return;
  }
  const arch::Family* known = arch::find_family(config);
  if (known == nullptr) return;
  Severity severity = is_mlx(model) ? Severity::error : Severity::warning;
  if (!whole || known->class_has_defaults) severity = Severity::note;
  // Wrappers leave values to their class's defaults (Pixtral: heads). With head_dim the heads follow from the tensors.
  const bool tensors_tell_heads = config.has_text_config && config.u64_field("head_dim").has_value();
  for (const arch::Key* key : arch::keys_of(*known)) {
    if (!states_it_alone(*key) || config.field(key->fields)) continue;
    if (tensors_tell_heads && key->symbol == arch::symbol::heads) continue;
    log.add(severity, Scope::model, "hf-config-missing",
            fmt::format("is missing, but {} models need it", config.model_type),
            at_field(arch::first_name(key->fields)));
  }
}

}  // namespace mlx_rules

FindingLog model_directory_rules(const SafetensorsModel& model) {
  FindingLog log;
  if (model.config_error) {
    log.add(without_path(*model.config_error, Scope::model, "config.json"));
  }
  if (!model.config) return log;
  log.add_all(model.config->findings);
  log.add_all(model.quantization.findings);
  log.add_all(model.modules.findings);
  if (!model.quantization.foreign_method.empty() && (!model.foreign.is_known || !model.foreign.refusal.empty())) {
    log.note(Scope::model, "hf-quant-method",
             fmt::format(
                 "the weights are quantised with '{}', which is not a known method: how they are packed is not checked",
                 model.quantization.foreign_method),
             at_field("quantization_config"));
  }
  mlx_rules::check_layout(model, log);
  mlx_rules::check_fields(model, log);
  mlx_rules::check_geometry(model, log);
  return log;
}

namespace {

// Records for --data which tensors form a packed weight.
void note_packed_weights(const SafetensorsModel& model, CheckedModel& checked) {
  const auto if_readable = [&](std::size_t place) {
    return place != mlx::no_tensor && checked.catalog.tensors[place].is_readable() ? place : mlx::no_tensor;
  };
  for (const Module& module : model.modules.list) {
    if (!module.decodable || module.form->kind != FormKind::mlx) continue;
    const mlx::ModeInfo& mode = mlx::mode_info(module.form->params.mode);
    PackedWeight packed{module.form->params, if_readable(module.weight()), if_readable(module.planes[1]),
                        mode.has_biases ? if_readable(module.planes[2]) : mlx::no_tensor};
    if (packed.weight == mlx::no_tensor || packed.scales == mlx::no_tensor) continue;
    if (mode.has_biases && packed.biases == mlx::no_tensor) continue;
    // safetensors can only label E8M0 scales as U8. Checking them as E8M0 finds their NaN code.
    if (mode.mode == mlx::Mode::mxfp4 || mode.mode == mlx::Mode::mxfp8) {
      checked.catalog.tensors[packed.scales].type = TensorType::F8_E8M0;
    }
    checked.packed.push_back(packed);
  }
}

}  // namespace

Result<CheckedModel> check_model_directory(const Model& opened, unsigned /*threads*/) {
  const SafetensorsModel& model = *opened.safetensors;
  CheckedModel checked;
  checked.format_text = is_mlx(model) ? "MLX" : "Hugging Face";
  checked.findings = safetensors_container_rules(model.set);
  checked.findings.add_all(model_directory_rules(model));
  checked.findings.add_all(side_file_rules(model));
  checked.catalog = opened.catalog();
  note_packed_weights(model, checked);
  return checked;
}

}  // namespace modelutils

namespace modelutils::mlx_rules {

// Checks the layout of the tensors against the layout that the files' metadata state.

void check_layout(const SafetensorsModel& model, FindingLog& log) {
  const StatedLayout layout = layout_of_tensors(model);
  if (layout.is_mixed()) {
    log.error(Scope::model, "hf-layout-mixed",
              fmt::format("has mlx-lm's layout, but '{}' has the published one, so the values of the other tensors "
                          "cannot be interpreted",
                          layout.as_published),
              at_tensor(layout.of_mlx));
    return;
  }
  if (!layout.has_any() || layout.is_mlx() == says_mlx(model)) return;
  log.note(Scope::model, "hf-layout-metadata",
           layout.is_mlx()
               ? "has mlx-lm's layout, although the files do not say that MLX wrote them; the tensors decide"
               : "has the published layout, although the files say that MLX wrote them; the tensors decide",
           at_tensor(layout.is_mlx() ? layout.of_mlx : layout.as_published));
}

}  // namespace modelutils::mlx_rules

namespace modelutils {

// Checks the text files beside the weights: tokenizer, generation settings, special tokens, model card.

namespace {

// Reports the file if it exists but is not a JSON object.
void check_object(const ModelFolder& folder, std::string_view name, FindingLog& log) {
  const auto document = json::load_if_present(folder, name);
  if (!document) {
    log.add(without_path(document.error(), Scope::model, name));
  } else if (*document && !(*document)->root.is_object()) {
    log.error(Scope::model, "hf-side-file", "is not a JSON object", {}, {}, name);
  }
}

// Returns the number of embedding rows; every token id must be lower.
std::optional<u64> embedding_rows(const SafetensorsModel& model) {
  const Module* embedding = mlx_rules::embedding_of(model);
  return embedding == nullptr || embedding->shape.empty() ? std::nullopt : std::optional(embedding->shape.front());
}

// Returns the template's markers that are in the vocabulary but not among the added tokens, which have types of their
// own. Rarely any.
std::vector<std::string> markers_without_type(const ModelFolder& folder, const jinja::Template& parsed, u64 rows) {
  std::vector<std::string> markers = jinja::written_markers(parsed);
  const auto files = tokenizer::load_tokenizer_files(folder);
  FindingLog said;
  const auto added = files ? tokenizer::collect_added_tokens(*files, rows, said)
                           : Result<tokenizer::AddedTokens>(tl::make_unexpected(files.error()));
  if (!added) return {};
  std::erase_if(markers, [&](const std::string& marker) {
    return std::any_of(added->tokens.begin(), added->tokens.end(),
                       [&](const tokenizer::AddedToken& token) { return token.content == marker; });
  });
  if (!files->tokenizer_json) return markers;
  const auto model = json::member(files->tokenizer_json->root, "model");
  const auto vocabulary = model ? json::member(*model, "vocab") : std::nullopt;
  json::Object tokens;
  if (!vocabulary || !vocabulary->get(tokens)) return markers;
  std::erase_if(markers, [&](const std::string& marker) { return !tokens.find(marker); });
  return markers;
}

void check_template(const ModelFolder& folder, std::string_view text, const std::string& where, std::optional<u64> rows,
                    FindingLog& log) {
  const auto parsed = check_chat_template(text, where, {}, {}, log);
  if (!parsed || !rows || *rows == 0) return;
  const std::vector<std::string> markers = markers_without_type(folder, *parsed, *rows);
  if (markers.empty()) return;
  tokenizer::TokenizerOptions options;
  options.embedding_rows = *rows;
  const auto tokenizer = tokenizer::read_tokenizer(folder, options);  // as a converter would read it
  if (tokenizer) check_written_tokens(markers, texts_of(*tokenizer), where, log);
}

void check_templates(const ModelFolder& folder, std::optional<u64> rows, FindingLog& log) {
  const auto config = json::load_if_present(folder, "tokenizer_config.json");
  FindingLog said;  // discarded: the tokenizer's rules report these
  const auto root = config && *config ? std::optional((*config)->root) : std::nullopt;
  const auto templates = tokenizer::read_chat_templates(folder, root, said);
  if (!templates) return;
  if (templates->main) check_template(folder, *templates->main, "chat template", rows, log);
  for (const tokenizer::NamedTemplate& one : templates->named) {
    check_template(folder, one.text, "chat template '" + one.name + "'", rows, log);
  }
}

}  // namespace

FindingLog side_file_rules(const SafetensorsModel& model) {
  FindingLog log;
  if (!model.set.is_directory) return log;
  const ModelFolder& folder = model.folder;
  const auto has = [&](std::string_view name) { return is_present(folder.file(name)); };
  constexpr std::array<std::string_view, 7> read = {
      "tokenizer.json", "tokenizer.model", "spiece.model", tokenizer::shifted_model_name,
      "tekken.json",    "vocab.json",      "vocab.txt"};
  const bool readable = std::any_of(read.begin(), read.end(), has);
  FindingLog tokenizer;
  if (readable) {
    tokenizer = tokenizer::check_tokenizer(folder, embedding_rows(model));
  } else if (!has("tiktoken.model") && !(model.config && model.config->string_field("_class_name"))) {
    log.add(mlx_rules::embedding_of(model) != nullptr ? Severity::error : Severity::note, Scope::model,
            "hf-tokenizer-missing",
            "there is no tokenizer (tokenizer.json, tokenizer.model, vocab.json, …) next to the weights");
  }
  if (const auto generation = hf::load_generation_config(folder)) {
    log.add_all(generation->findings);
  } else {
    log.add(without_path(generation.error(), Scope::model, "generation_config.json"));
  }
  // The tokenizer's checks stop at the first broken file, so check the remaining ones here.
  for (const std::string_view name : {"tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"}) {
    const auto is_said = [&](const Finding& finding) { return finding.file == name; };
    if (std::none_of(tokenizer.begin(), tokenizer.end(), is_said)) check_object(folder, name, log);
  }
  if (const auto card = open_side_file(folder, "README.md"); !card) {
    log.add(without_path(card.error(), Scope::model, "README.md"));
  }
  log.add_all(std::move(tokenizer));
  check_templates(folder, embedding_rows(model), log);
  return log;
}

}  // namespace modelutils

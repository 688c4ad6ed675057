// Checks config.json against the tensors' shapes. Shapes are logical, as if packed weights were unpacked.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "arch/families.h"
#include "arch/geometry.h"
#include "arch/names.h"
#include "arch/stacks.h"
#include "base/text.h"
#include "formats/hf/names.h"
#include "rules/directory/mlx_rules.h"
#include "rules/formats.h"

namespace modelutils::mlx_rules {

namespace {

// Higher layer numbers are treated as nonsense.
constexpr u64 most_layers = 65536;

class Geometry {
 public:
  Geometry(const SafetensorsModel& model, const arch::Family& family, FindingLog& log)
      : config_(*model.config), names_(family), sizes_(arch::stated_sizes(family, config_)), log_(log) {
    // Sizes that config.json implies without a field: the number of KV heads, and the head size.
    for (const arch::Key* key : arch::keys_of(family)) {
      const bool implied = key->symbol == arch::symbol::kv_heads || key->symbol == arch::symbol::head_dim;
      if (!implied || sizes_.find(key->symbol)) continue;
      std::optional<u64> value;
      if (key->derive != nullptr) value = key->derive(config_, sizes_);
      if (!value) value = arch::evaluate(key->fallback, sizes_);
      if (value) sizes_.set(key->symbol, *value);
    }
    for (const arch::Key* key : arch::keys_of(family)) {
      if (key->symbol.empty() || key->derive_layers == nullptr) continue;
      std::vector<u64> values = key->derive_layers(config_, sizes_);
      if (!values.empty()) sizes_.set_layers(key->symbol, std::move(values));
    }
    for (const Module& module : model.modules.list) {
      // A packed weight that cannot be unpacked already has its own finding.
      if (!module.quantized || module.decodable) check_module(module);
      note_layer(module);
    }
  }

  void check_sizes() {
    if (const Status bounded = arch::check_stated_sizes(names_.family(), config_); !bounded) {
      log_.error(Scope::model, "hf-size", bounded.error().message, at_field(bounded.error().where));
    }
  }

  void check_layers() {
    if (layers_.empty()) return;
    const u64 highest = layers_.rbegin()->first;
    if (config_.block_count && *config_.block_count != highest + 1) {
      log_.error(Scope::model, "hf-layers",
                 fmt::format("is {}, but the tensors have {}", *config_.block_count, counted(highest + 1, "layer")),
                 at_field("num_hidden_layers"));
    }
    // In these architectures all layers have the same modules, except those that depend on a condition.
    std::set<std::string_view> all;
    for (const auto& [layer, modules] : layers_) all.insert(modules.begin(), modules.end());
    for (u64 layer = 0; layer <= std::min(highest, most_layers); ++layer) {
      const auto found = layers_.find(layer);
      if (found == layers_.end()) {
        if (may_be_empty()) continue;
        log_.error(Scope::model, "hf-tensor-missing", "has no tensors at all", fmt::format("layer {}", layer));
        continue;
      }
      if (found->second.size() == all.size()) continue;
      if (!log_.keeps(Severity::error, "hf-tensor-missing")) {
        log_.count_only(Severity::error, "hf-tensor-missing", all.size() - found->second.size());
        continue;
      }
      for (const std::string_view module : all) {
        if (!found->second.contains(module)) {
          log_.error(Scope::model, "hf-tensor-missing", "is missing, but other layers have it",
                     fmt::format("module '{}{}.{}'", layer_prefix(), layer, module));
        }
      }
    }
  }

 private:
  std::string_view layer_prefix() const {
    const std::string_view prefixes = names_.family().layer_prefixes;
    return arch::has_name(prefixes, "model.layers.") ? "model.layers." : arch::first_name(prefixes);
  }

  void note_layer(const Module& module) {
    const std::string name = name_of(module);
    if (hf::classify_name(name) != hf::NameClass::keep || arch::is_prediction_layer(names_, config_, name)) return;
    const std::optional<u64> layer = names_.layer_of(name + ".");
    if (!layer || *layer >= most_layers || is_left_out(name) || is_of_decoder(name)) return;
    // A view of the module's own path: the canonical name is a copy, but both are the same after the layer number.
    const std::string number = '.' + std::to_string(*layer) + '.';
    const std::size_t at = module.path.find(number);
    if (at == std::string_view::npos) return;
    const std::string_view role = module.path.substr(at + number.size());
    auto& roles = layers_[*layer];
    // Some mixtures of experts have dense layers among the others.
    const bool may_differ = names_.family().layers_may_differ && role.starts_with("mlp.");
    if (!may_differ && !is_conditional(name)) roles.insert(role);
  }

  // Returns the module's name as the family's rows spell it.
  std::string name_of(const Module& module) const {
    const std::string canonical = hf::canonical_name(module.path);
    std::string with_suffix = names_.spelled(canonical + ".weight");
    if (!names_.match(with_suffix)) return names_.spelled(canonical);
    with_suffix.resize(with_suffix.size() - std::string_view(".weight").size());
    return with_suffix;
  }

  // True for modules that no output holds; not every layer has them.
  bool is_left_out(const std::string& name) const {
    const std::string_view lost = names_.family().lost_unless_zero;
    return names_.leaves_out(name) || (!lost.empty() && (name + ".bias").find(lost) != std::string::npos);
  }

  // True in the second stack of an encoder-decoder, whose layers have a count of their own.
  bool is_of_decoder(const std::string& name) const {
    const auto match = names_.match(name + ".weight");
    return match && arch::stack_of(*match->uses->front().row) == "dec.";
  }

  // True if a layer may have no tensors at all.
  bool may_be_empty() const {
    return std::ranges::all_of(names_.family().layer_tensors, [](const auto& rows) {
      return std::ranges::all_of(rows, [](const arch::Tensor& row) { return !row.when.empty(); });
    });
  }

  // True if a layer may lack this module.
  bool is_conditional(const std::string& name) const {
    auto match = names_.match(name + ".weight");
    if (!match) match = names_.match(name);  // no suffix: a tensor by itself
    return match && std::any_of(match->uses->begin(), match->uses->end(), [](const arch::SourceUse& use) {
             return !use.in_layer || !use.row->when.empty() || use.row->need == arch::Need::optional;
           });
  }

  // Compares one dimension of a weight with an expression from the family's row.
  void expect(const Module& module, u64 layer, std::size_t dim, std::string_view expression) {
    const std::optional<u64> wanted = arch::evaluate(expression, sizes_, layer);
    if (!wanted || module.shape[dim] == *wanted) return;
    log_.error(Scope::model, code_for(expression),
               fmt::format("has shape [{0}], but config.json gives {2} for dimension {1} ({3})", joined(module.shape),
                           dim, *wanted, in_words(expression)),
               fmt::format("tensor '{}.weight'", module.path));
  }

  static std::string_view code_for(std::string_view expression) {
    const auto has = [&](std::string_view symbols) {
      return expression.find_first_of(symbols) != std::string_view::npos;
    };
    if (has("V")) return "hf-vocabulary";
    if (has("X")) return "hf-experts";
    if (has("HKD")) return "hf-heads";
    return has("F") ? "hf-feed-forward" : "hf-hidden-size";
  }

  // Spells out an expression: "H*D" becomes "num_attention_heads × head_dim".
  std::string in_words(std::string_view expression) const {
    std::string words;
    while (!expression.empty()) {
      const std::size_t end = std::min(expression.find_first_of("*+"), expression.size());
      words += field_for(expression.substr(0, end));
      if (end < expression.size()) words += expression[end] == '*' ? " × " : " + ";
      expression.remove_prefix(std::min(end + 1, expression.size()));
    }
    return words;
  }
  std::string_view field_for(std::string_view symbol) const {
    for (const arch::Key* key : arch::keys_of(names_.family())) {
      if (key->symbol == symbol && !key->fields.empty()) return arch::stated_field(config_, key->fields);
    }
    return symbol;
  }

  // Checks weights that map to a GGUF tensor one to one; only their shape follows from the row.
  void check_module(const Module& module) {
    const std::string name = name_of(module) + ".weight";
    const auto match = names_.match(name);
    if (!match || arch::is_prediction_layer(names_, config_, name) || match->expert ||
        match->uses->front().side != arch::Side::weight)
      return;
    const arch::Tensor& row = *match->uses->front().row;
    for (const arch::SourceUse& use : *match->uses) {
      if (use.row != &row) return;
      const std::vector<arch::SourcePart>& parts = names_.alternatives(row)[use.alternative].parts;
      if (parts.size() != 1 || parts[0].is_of_elements) return;
    }
    const std::vector<std::string_view> ne = arch::dimensions_of(row.ne);
    // Shapes with a dimension of 1 (convolutions) are skipped, since it may be at any place.
    if (ne.size() != module.shape.size() || std::find(ne.begin(), ne.end(), "1") != ne.end()) return;
    const u64 layer = match->layer.value_or(0);
    for (std::size_t dim = 0; dim < ne.size(); ++dim) expect(module, layer, dim, ne[ne.size() - 1 - dim]);
  }

  const hf::Config& config_;
  arch::Names names_;
  arch::Sizes sizes_;
  FindingLog& log_;
  std::map<u64, std::set<std::string_view>> layers_;  // module names per layer
};

bool has_unread_shard(const SafetensorsModel& model) {
  return std::ranges::any_of(model.set.findings, [](const Finding& finding) {
    return finding.code == "st-shard-open" || finding.code == "st-shard-format";
  });
}

}  // namespace

void check_geometry(const SafetensorsModel& model, FindingLog& log) {
  const arch::Family* family = arch::find_family(*model.config);
  if (family == nullptr || !model.quantization.foreign_method.empty()) return;
  Geometry geometry(model, *family, log);
  geometry.check_sizes();
  // Skip partial models (a single layer, an adapter), which need not have all layers. The contents of an unreadable
  // shard are unknown, so nothing can be called missing then.
  if (embedding_of(model) != nullptr && !has_unread_shard(model)) geometry.check_layers();
}

}  // namespace modelutils::mlx_rules

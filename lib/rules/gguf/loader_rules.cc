#include "rules/gguf/loader_rules.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "arch/facts.h"
#include "arch/families.h"
#include "arch/families/runtime_only.h"
#include "arch/loader_forms.h"
#include "arch/names.h"
#include "arch/prediction_rows.h"
#include "arch/stacks.h"
#include "base/text.h"
#include "formats/gguf/document.h"
#include "model/memory/hyper_parameters.h"
#include "tensor/types.h"

namespace modelutils {

namespace {

u64 rows_of(const gguf::TensorInfo& tensor) {
  return tensor.ne.size() > 1 ? tensor.ne[1] : 1;
}

class LoaderRules {
 public:
  LoaderRules(const gguf::SplitSet& set, bool with_vocabulary)
      : set_(set), keys_(set.files.front().document), with_vocabulary_(with_vocabulary) {}

  FindingLog check() {
    const arch::Family* family = arch::find_family(keys_);
    if (family == nullptr) {
      log_.error(Scope::model, "loader-architecture",
                 fmt::format("is '{}', which is not a supported architecture", keys_.architecture()),
                 at_key("general.architecture"));
      return std::move(log_);
    }
    check_keys(*family);
    Result<arch::Sizes> sizes = arch::read_gguf_sizes(*family, keys_, set_.files.front());
    if (!sizes) {
      log_.add(without_path(sizes.error(), Scope::model));
      return std::move(log_);
    }
    arch::Sizes with_blocks = *sizes;
    arch::leave_out_prediction(*family, keys_, *sizes);
    blocks_ = with_blocks.get(arch::symbol::layers) - sizes->get(arch::symbol::layers);
    with_blocks_ = arch::stated_sizes_of_blocks(*family, std::move(with_blocks), blocks_);
    for (const auto& group : family->layer_tensors) {
      for (const arch::Tensor& row : group) check_numbers(row, sizes->get(arch::symbol::layers));
    }
    check_relations(*family, *sizes);
    check_default_values(*family, *sizes);
    const Result<arch::Facts> stated = arch::read_facts(keys_, set_.files.front());
    if (stated) check_groups(*stated);
    check_tensors(*family, *sizes);
    if (stated) check_windows(*stated);
    return std::move(log_);
  }

 private:
  // If sliding layers have their own cache, llama.cpp asserts that at least one layer slides.
  void check_windows(const arch::Facts& stated) {
    const auto read = memory::read_hyper_parameters(stated, false);
    if (!read || !*read) return;
    const memory::HyperParameters& model = **read;
    const arch::Windows& rule = model.facts->windows;
    if (rule.is_required && !model.has_windows) {
      log_.error(Scope::model, "loader-key",
                 fmt::format("is {}, but llama.cpp aborts if the model has no sliding window",
                             stated.window.is_stated() ? "0" : "missing"),
                 at_key(stated.window.name));
      return;
    }
    if (!model.has_windows) return;
    if (rule.rule == arch::Windows::Rule::list && stated.window_pattern.number()) {
      log_.error(Scope::model, "loader-key", "is a number, but llama.cpp requires a flag for each layer",
                 at_key(stated.window_pattern.name));
      return;
    }
    const auto trunk =
        model.slides.begin() + static_cast<std::ptrdiff_t>(std::min<u64>(model.trunk, model.slides.size()));
    const bool slides = std::find(model.slides.begin(), trunk, true) != trunk;
    if (slides && !has_only_global_flags(stated, rule)) return;
    log_.error(
        Scope::model, "loader-key",
        fmt::format(
            "is {}, but no layer has a sliding window: llama.cpp aborts; remove the key if the architecture allows it",
            model.window),
        at_key(stated.window.name));
  }

  // Where the period is hard-coded, llama.cpp also reads flags since 2026; earlier versions and the memory plan ignore
  // them.
  static bool has_only_global_flags(const arch::Facts& stated, const arch::Windows& rule) {
    const arch::LayerNumbers* flags = stated.window_pattern.list();
    return rule.rule == arch::Windows::Rule::period && flags != nullptr && !flags->values.empty() &&
           std::ranges::all_of(flags->values, [](i64 flag) { return flag == 0; });
  }

  void check_keys(const arch::Family& family) {
    for (const arch::Key* row : arch::keys_of(family)) {
      const bool is_wanted = arch::has_name(family.loader_needs, row->name);
      if (!is_wanted && (row->need != arch::Need::required || !row->symbol.empty())) continue;  // sizes: see below
      const std::string key = keys_.arch_key(row->name);
      if (!has_value(key, row->type)) {
        log_.error(Scope::model, "loader-key", std::string(arch::absence(family, row->name)), at_key(key));
      }
    }
    if (!with_vocabulary_) return;
    const auto model = keys_.string_value("tokenizer.ggml.model");
    if (!model)
      log_.error(Scope::model, "loader-key", "is missing, but llama.cpp requires it", at_key("tokenizer.ggml.model"));
    if (keys_.array_value("tokenizer.ggml.tokens") == nullptr) {
      log_.error(Scope::model, "loader-key", "is missing, but llama.cpp requires it", at_key("tokenizer.ggml.tokens"));
    }
    if (model == "gpt2" && keys_.array_value("tokenizer.ggml.merges") == nullptr) {
      log_.error(Scope::model, "loader-key", "is missing, but llama.cpp requires it for a byte-level vocabulary",
                 at_key("tokenizer.ggml.merges"));
    }
  }

  // Checks sizes without a symbol. The tensors' shapes imply their value, but llama.cpp uses a default if the key is
  // absent, which may differ.
  void check_default_values(const arch::Family& family, const arch::Sizes& sizes) {
    for (const arch::Key* row : arch::keys_of(family)) {
      if (!row->symbol.empty() || row->loader_default.empty() || arch::has_name(family.loads_without, row->name))
        continue;
      const std::string key = keys_.arch_key(row->name);
      const auto wanted = arch::evaluate(row->fallback, sizes);
      const auto taken =
          keys_.key(key) == nullptr ? arch::evaluate(row->loader_default, sizes) : keys_.unsigned_value(key);
      if (!wanted || !taken || *wanted == *taken) continue;
      log_.error(Scope::model, "loader-key",
                 keys_.key(key) == nullptr
                     ? fmt::format("is missing: llama.cpp assumes {}, but the tensors have {}", *taken, *wanted)
                     : fmt::format("is {}, but the tensors have {}", *taken, *wanted),
                 at_key(key));
    }
  }

  // llama.cpp asserts both conditions for every architecture.
  void check_groups(const arch::Facts& stated) {
    const u64 groups = stated.expert_groups.number().value_or(0);
    const u64 used = stated.expert_groups_used.number().value_or(0);
    const u64 experts = stated.experts.number().value_or(0);
    if (groups <= 1) return;
    if (experts % groups != 0 || groups >= experts) {
      log_.error(
          Scope::model, "loader-key",
          fmt::format("is {}: llama.cpp cannot divide {} among so many groups", groups, counted(experts, "expert")),
          at_key(stated.expert_groups.name));
    }
    if (used == 0 || used >= groups) {
      log_.error(Scope::model, "loader-key",
                 fmt::format("is {}: llama.cpp chooses from 1 to {} of {} groups", used, groups - 1, groups),
                 at_key(stated.expert_groups_used.name));
    }
  }

  // Checks a key with one number per layer, or one for all layers.
  void check_numbers(const arch::Tensor& row, u64 layers) {
    const std::string key(arch::key_of_numbers(row));
    if (key.empty() || keys_.float_value(key)) return;
    const gguf::ArrayRef* array = keys_.array_value(key);
    if (array != nullptr && array->count == layers) return;
    log_.error(Scope::model, "loader-key",
               array == nullptr ? "is missing, but llama.cpp requires it"
                                : fmt::format("is an array of {}, but needs one number for each of the {} layers",
                                              array->count, layers),
               at_key(key));
  }

  // Checks sizes that llama.cpp assumes to be equal.
  void check_relations(const arch::Family& family, const arch::Sizes& sizes) {
    for (const arch::Relation& relation : family.relations) {
      const std::optional<u64> left = arch::evaluate(relation.left, sizes);
      const std::optional<u64> right = arch::evaluate(relation.right, sizes);
      if (!left || !right || *left == *right) continue;
      log_.error(Scope::model, "loader-key",
                 fmt::format("give {} and {}, which must be equal: {}{}{}", *left, *right, relation.field,
                             relation.field.empty() ? "" : " ", relation.because),
                 "keys " + joined(keys_behind(family, {relation.left, relation.right})));
    }
  }

  // Returns the names of the keys that state the sizes in these expressions, without repeats.
  static std::vector<std::string_view> keys_behind(const arch::Family& family,
                                                   std::initializer_list<std::string_view> expressions) {
    constexpr auto is_part = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); };
    std::vector<std::string_view> names;
    for (std::string_view expression : expressions) {
      while (!expression.empty()) {
        const std::size_t size = std::ranges::find_if_not(expression, is_part) - expression.begin();
        for (const arch::Key* key : arch::keys_of(family)) {
          if (key->symbol.empty() || key->symbol != expression.substr(0, size)) continue;
          if (std::ranges::find(names, key->name) == names.end()) names.push_back(key->name);
        }
        expression.remove_prefix(std::max<std::size_t>(size, 1));
      }
    }
    return names;
  }

  bool has_value(const std::string& key, arch::KeyType type) const {
    switch (type) {
      case arch::KeyType::f32: return keys_.float_value(key).has_value();
      case arch::KeyType::flag: return keys_.bool_value(key).has_value();
      case arch::KeyType::text: return keys_.string_value(key).has_value();
      case arch::KeyType::u32: return keys_.unsigned_value(key).has_value();
      default: return keys_.key(key) != nullptr;
    }
  }

  // Returns per layer the sizes that define its kind. Layers of one kind have the same marked tensors.
  static std::vector<std::vector<u64>> kinds_of_layers(const arch::Family& family, const arch::Sizes& sizes) {
    std::vector<std::vector<u64>> kinds(static_cast<std::size_t>(arch::layers_of_stacks(family, sizes)));
    for (const arch::Key* key : arch::keys_of(family)) {
      if (sizes.values(key->symbol).size() < 2) continue;
      for (u64 layer = 0; layer < kinds.size(); ++layer) kinds[layer].push_back(sizes.get(key->symbol, layer));
    }
    return kinds;
  }

  static bool has_mark(const arch::Family& family, const arch::Tensor& row) {
    return std::ranges::any_of(family.marks, [&](const arch::Mark& mark) { return arch::tensor_of(mark) == row.name; });
  }

  // True if the layer's other tensors imply that this one must be present.
  static bool is_marked(const arch::Family& family, const arch::Sizes& sizes, const arch::ExpectedTensor& expected) {
    return std::ranges::any_of(family.marks, [&](const arch::Mark& mark) {
      return arch::tensor_of(mark) == expected.row->name && arch::has_name(family.loads_without, expected.row->name) &&
             sizes.get(mark.symbol, expected.layer) != 0;
    });
  }

  // Returns the tensors whose presence tells the loader what else a layer has. Layers may differ in them.
  static std::set<std::string_view> deciding_tensors(const arch::Family& family) {
    std::set<std::string_view> names;
    for (const arch::Mark& mark : family.marks) {
      for (const auto& group : family.layer_tensors) {
        for (const arch::Tensor& row : group) {
          const auto symbols = arch::unknown_symbols(row.when, {});
          if (std::ranges::count(symbols, mark.symbol) > 0) names.insert(arch::tensor_of(mark));
        }
      }
    }
    return names;
  }

  void check_tensors(const arch::Family& family, arch::Sizes& sizes) {
    std::unordered_map<std::string_view, const gguf::TensorInfo*> left;
    for (const gguf::SetFile& file : set_.files) {
      for (const gguf::TensorInfo& tensor : file.document.tensors) left.emplace(tensor.name, &tensor);
    }
    const std::vector<std::vector<u64>> kinds = kinds_of_layers(family, sizes);
    arch::set_marks(family, sizes, [&](const std::string& name) {
      const auto found = left.find(name);
      return found == left.end() ? std::nullopt : std::optional(rows_of(*found->second));
    });
    std::vector<arch::ExpectedTensor> all = arch::expected_tensors(family, sizes);
    arch::expect_as_loaded(
        family, sizes, [&](const std::string& name) { return left.contains(name); }, all);
    const std::set<std::string_view> deciding = deciding_tensors(family);
    using Place = std::tuple<const arch::Tensor*, arch::Side, std::vector<u64>>;
    const auto place_of = [&](const arch::ExpectedTensor& expected) {
      const bool by_kind = has_mark(family, *expected.row);
      return Place(expected.row, expected.side,
                   by_kind ? kinds[static_cast<std::size_t>(expected.layer)] : std::vector<u64>{});
    };
    std::set<Place> in_some_layer;
    for (const arch::ExpectedTensor& expected : all) {
      const bool is_optional = expected.in_layer && expected.need == arch::Need::optional;
      if (is_optional && !deciding.contains(expected.row->name) && left.contains(expected.name))
        in_some_layer.insert(place_of(expected));
    }
    std::unordered_map<std::string_view, const gguf::TensorInfo*> known;
    for (const arch::ExpectedTensor& expected : all) {
      const auto found = left.find(expected.name);
      if (found == left.end()) {
        if (expected.need == arch::Need::required || is_marked(family, sizes, expected)) {
          const std::string name = std::string(expected.row->name) + (expected.side == arch::Side::bias ? ".bias" : "");
          // Without a head llama.cpp uses the embedding, unless the architecture requires a head.
          if (name == "output" && arch::has_name(family.loads_without, name)) continue;
          log_.error(Scope::model, "loader-tensor-missing", std::string(arch::absence(family, name)),
                     at_tensor(expected.name));
        } else if (expected.in_layer && in_some_layer.contains(place_of(expected))) {
          log_.warning(Scope::model, "loader-tensor-uneven",
                       "is missing, but other layers have it: the model loads but computes something else",
                       at_tensor(expected.name));
        }
        continue;
      }
      check_tensor(expected, *found->second);
      known.insert(*found);
      left.erase(found);
    }
    check_blocks(family, left, known);
    const std::string_view further = arch::further_tensors(family.gguf);
    for (const auto& [name, tensor] : left) {
      if (is_weight_scale(*tensor, sizes, known) || arch::has_runtime_tensor(further, name)) continue;
      // Tensors after the layers may belong to prediction blocks that the file does not count, or that the loader takes
      // and the family does not list.
      const bool may_be_in_block = blocks_ == 0 || arch::has_runtime_tensor(further, "blk.0.nextn.eh_proj.weight");
      if (may_be_in_block && layer_of_block(name).value_or(0) >= sizes.get(arch::symbol::layers)) continue;
      log_.error(Scope::model, "loader-tensor-extra",
                 "is not one that llama.cpp expects for this architecture, so it refuses the whole file",
                 at_tensor(name));
    }
  }

  // Checks prediction blocks, which follow the layers. Loaders that do not require them look for eh_proj to see whether
  // the file has them.
  void check_blocks(const arch::Family& family, std::unordered_map<std::string_view, const gguf::TensorInfo*>& left,
                    std::unordered_map<std::string_view, const gguf::TensorInfo*>& known) {
    if (blocks_ == 0 || family.prediction.tensors.empty()) return;
    arch::set_marks(family, with_blocks_, [&](const std::string& name) {
      return left.contains(name) || known.contains(name) ? std::optional(u64{1}) : std::nullopt;
    });
    blocks_expected_ = arch::expected_block_tensors(family, with_blocks_, blocks_);
    arch::expect_as_loaded(
        family, with_blocks_, [&](const std::string& name) { return left.contains(name); }, blocks_expected_);
    const u64 first = with_blocks_.get(arch::symbol::layers) - blocks_;
    const bool is_there =
        !family.cache.may_lack_prediction || left.contains(fmt::format("blk.{}.nextn.eh_proj.weight", first));
    for (const arch::ExpectedTensor& expected : blocks_expected_) {
      const auto found = left.find(expected.name);
      if (found != left.end()) {
        check_tensor(expected, *found->second);
        known.insert(*found);
        left.erase(found);
      } else if (is_there && expected.need == arch::Need::required) {
        log_.error(Scope::model, "loader-tensor-missing", "is missing, but llama.cpp requires it",
                   at_tensor(expected.name));
      }
    }
  }

  // True if the tensor is a factor for a matrix or one per expert: ".scale" multiplies its values, ".input_scale" its
  // input.
  static bool is_weight_scale(const gguf::TensorInfo& tensor, const arch::Sizes& sizes,
                              const std::unordered_map<std::string_view, const gguf::TensorInfo*>& known) {
    const std::string_view name = tensor.name;
    for (const std::string_view suffix : {".input_scale", ".scale"}) {
      if (!name.ends_with(suffix)) continue;
      const std::string weight = std::string(name.substr(0, name.size() - suffix.size())) + ".weight";
      const u64 factors = weight.find("_exps.") == weight.npos ? 1 : sizes.get(arch::symbol::experts);
      const auto found = known.find(weight);
      if (found == known.end() || !arch::takes_factor(weight, found->second->type().value_or(TensorType::F32))) {
        return false;
      }
      return tensor.type() == TensorType::F32 && tensor.ne == std::vector<u64>{factors};
    }
    return false;
  }

  // Returns N from "blk.N.…".
  static std::optional<u64> layer_of_block(std::string_view name) {
    constexpr std::string_view prefix = "blk.";
    u64 layer = 0;
    if (!name.starts_with(prefix)) return std::nullopt;
    const auto [end, error] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), layer);
    return error == std::errc() ? std::optional(layer) : std::nullopt;
  }

  void check_tensor(const arch::ExpectedTensor& expected, const gguf::TensorInfo& tensor) {
    const std::string where = at_tensor(tensor.name);
    if (!is_same_shape(expected.ne, tensor.ne)) {
      const bool vocabulary = expected.name == "token_embd.weight" || expected.name == "output.weight";
      log_.error(Scope::model,
                 vocabulary && tensor.ne.size() == 2 && tensor.ne[0] == expected.ne[0] ? "loader-vocabulary"
                                                                                       : "loader-tensor-shape",
                 fmt::format("has shape {}, but the hyper-parameters and the vocabulary imply {}",
                             shape_text(tensor.ne), shape_text(expected.ne)),
                 where);
    }
    const std::optional<TensorType> type = tensor.type();
    if (!type) return;  // the container's rules report it
    constexpr std::array unusable = {TensorType::Q8_1, TensorType::Q8_K, TensorType::I8, TensorType::I16,
                                     TensorType::I32,  TensorType::I64,  TensorType::F64};
    if (expected.must_be_f32 && *type != TensorType::F32) {
      log_.error(Scope::model, "loader-tensor-type",
                 fmt::format("is {}, but llama.cpp requires F32 here", type_name(*type)), where);
    } else if (expected.row != nullptr && expected.row->is_of_experts) {
      if (*type == TensorType::I32) return;
      log_.error(Scope::model, "loader-tensor-type",
                 fmt::format("is {}, but llama.cpp requires I32 here", type_name(*type)), where);
    } else if (std::find(unusable.begin(), unusable.end(), *type) != unusable.end()) {
      log_.error(Scope::model, "loader-tensor-type",
                 fmt::format("is {}, which llama.cpp does not support for weights", type_name(*type)), where);
    }
  }

  const gguf::SplitSet& set_;
  gguf::Index keys_;
  bool with_vocabulary_;
  u64 blocks_ = 0;  ///< number of blocks that predict further tokens
  arch::Sizes with_blocks_;
  std::vector<arch::ExpectedTensor> blocks_expected_;
  FindingLog log_;
};

// Counts of the tensors that a loader requires and of those present.
struct TensorCount {
  u64 required = 0, present = 0;
  bool has_frame = false;  // has everything required outside the layers, and part of each layer
};

TensorCount count_tensors(const gguf::SplitSet& set) {
  TensorCount count;
  const gguf::Index keys(set.files.front().document);
  if (keys.string_value("general.type").value_or("model") != "model") return count;
  const arch::Family* family = arch::find_family(keys);
  if (family == nullptr) return count;
  // Includes per-layer arrays of sizes if they can be read.
  auto read = arch::read_gguf_sizes(*family, keys, set.files.front());
  arch::Sizes sizes = read ? std::move(*read) : arch::stated_gguf_sizes(*family, keys);
  arch::leave_out_prediction(*family, keys, sizes);
  std::unordered_set<std::string_view> names;
  std::set<u64> layers_seen;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      names.insert(tensor.name);
      const std::optional<u64> layer = arch::block_of(tensor.name);
      if (layer && *layer < arch::max_layers) layers_seen.insert(*layer);
    }
  }
  const u64 layers = layers_seen.empty() ? 0 : *layers_seen.rbegin() + 1;
  if (sizes.get(arch::symbol::layers) == 0 || sizes.get(arch::symbol::layers) > arch::max_layers) {
    sizes.set(arch::symbol::layers, layers);
  }
  set_marks(*family, sizes,
            [&](const std::string& name) { return names.contains(name) ? std::optional<u64>(1) : std::nullopt; });
  std::vector<arch::ExpectedTensor> all = arch::expected_tensors(*family, sizes);
  arch::expect_as_loaded(
      *family, sizes, [&](const std::string& name) { return names.contains(name); }, all);
  bool has_both_ends = true;
  for (const arch::ExpectedTensor& expected : all) {
    if (expected.need != arch::Need::required) continue;
    ++count.required;
    const bool is_there = names.contains(expected.name);
    count.present += is_there;
    has_both_ends = has_both_ends && (expected.in_layer || is_there);
  }
  count.has_frame = has_both_ends && layers > 0 && layers_seen.size() == layers;
  return count;
}

}  // namespace

bool is_whole_model(const gguf::SplitSet& set) {
  const TensorCount count = count_tensors(set);
  if (count.present == 0 || arch::is_prediction_alone(set)) return false;
  if (gguf::Index(set.files.front().document).string_value("general.type") == "model") return true;
  if (count.required <= 2) return false;
  return 4 * count.present >= 3 * count.required || (count.has_frame && 2 * count.present > count.required);
}

FindingLog exemption_findings(const gguf::SplitSet& set) {
  FindingLog log;
  const gguf::Index keys(set.files.front().document);
  const bool has_tensors =
      std::ranges::any_of(set.files, [](const gguf::SetFile& file) { return !file.document.tensors.empty(); });
  const bool is_model = keys.string_value("general.type").value_or("model") == "model";
  if (!has_tensors || !is_model || arch::find_family(keys) == nullptr || arch::is_prediction_alone(set)) return log;
  const TensorCount count = count_tensors(set);
  log.note(Scope::model, "loader-exempt",
           fmt::format("the file has {} of {} that llama.cpp requires for this architecture, and no general.type: it "
                       "is treated as part of a model and not checked against the loader's requirements",
                       count.present, counted(count.required, "tensor")),
           at_key("general.architecture"));
  return log;
}

FindingLog loader_findings(const gguf::SplitSet& set, bool with_vocabulary) {
  if (set.files.empty()) return {};
  return LoaderRules(set, with_vocabulary).check();
}

}  // namespace modelutils

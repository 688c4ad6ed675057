// Checks the architecture and the hyper-parameters against the tensors.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "arch/facts.h"
#include "arch/families.h"
#include "arch/families/runtime_only.h"
#include "arch/names.h"
#include "base/log.h"
#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/document.h"
#include "rules/formats.h"
#include "rules/gguf/component_rules.h"
#include "rules/gguf/loader_rules.h"
#include "rules/gguf/rule_parts.h"
#include "tensor/types.h"

namespace modelutils::gguf_rules {

namespace {

class ModelRules {
 public:
  ModelRules(const gguf::Index& index, const arch::Facts& stated, const TensorFacts& facts, FindingLog& log)
      : index_(index), stated_(stated), facts_(facts), log_(log), known_(arch::find_family(index)) {}

  void check() {
    log_info("architecture '{}': {}", index_.architecture(),
             known_ != nullptr ? "its keys and tensors are checked as llama.cpp reads them"
                               : "not known to verify, so only the rules for all models apply");
    check_architecture();
    if (facts_.any_quantized && index_.key("general.quantization_version") == nullptr) {
      log_.warning(Scope::model, "gguf-quantization-version",
                   "the key is missing, although there are quantised tensors", at_key("general.quantization_version"));
    }
    if (!facts_.any) {
      log_.note(Scope::model, "gguf-no-tensors", "the file has no tensors: it contains only keys, not a model");
      return;
    }
    if (is_part_of_a_model()) return;
    if (known_ == nullptr || !lacks_prediction(index_, facts_.blocks)) check_layers();
    check_against(stated_.width, facts_.embedding_size, "a row of token_embd.weight has", "element");
    check_per_layer_arrays();
    check_experts();
    check_heads();
    check_rope();
    check_required();
  }

 private:
  // Returns nullopt if the key is missing.
  std::optional<u64> offset_of(std::string_view name) const {
    const gguf::KeyValue* entry = index_.key(name);
    return entry == nullptr ? std::nullopt : std::optional(entry->offset);
  }

  void check_architecture() {
    const gguf::KeyValue* entry = index_.key("general.architecture");
    if (entry == nullptr) {
      // An importance matrix applies to any architecture with such tensors.
      if (!facts_.any || index_.string_value("general.type") == "imatrix") return;
      if (!facts_.image_model.empty()) {
        return log_.note(
            Scope::model, "gguf-architecture-missing",
            fmt::format("the key is missing: programs recognise the model, {}, by the names of its tensors",
                        facts_.image_model),
            at_key("general.architecture"));
      }
      return log_.warning(Scope::model, "gguf-architecture-missing",
                          "the key is missing: no program can tell what the tensors mean",
                          at_key("general.architecture"));
    }
    if (entry->type() != gguf::ValueType::string) {
      log_.error(Scope::model, "gguf-architecture-type",
                 fmt::format("is of type {}, it must be string", gguf::short_type_name(entry->type())),
                 at_key(entry->key), entry->offset);
    } else if (index_.architecture().empty()) {
      log_.warning(Scope::model, "gguf-architecture-missing", "is empty: no program can tell what the tensors mean",
                   at_key(entry->key), entry->offset);
    }
  }

  // True for adapters, importance matrices and vision encoders, which have some of a model's tensors and few of its
  // keys.
  bool is_part_of_a_model() const {
    const auto type = index_.string_value("general.type");
    return type && *type != "model";
  }

  // A contradiction is an error for a known architecture, and a warning otherwise.
  Severity contradiction() const { return known_ != nullptr ? Severity::error : Severity::warning; }

  // HRM's block_count counts every pass through the layers, while the file stores the layers of its two stacks once.
  // llama.cpp aborts (GGML_ASSERT) if the numbers do not match.
  void check_layers() {
    const std::string name = index_.arch_key("hrm.layers_per_stack");
    const std::optional<u64> stacked = index_.unsigned_value(name);
    if (!stacked) return check_against(stated_.layers, facts_.blocks, "the tensors have", "layer");
    const std::optional<u64> high = index_.unsigned_value(index_.arch_key("hrm.h_cycles"));
    const std::optional<u64> low = index_.unsigned_value(index_.arch_key("hrm.l_cycles"));
    if (high && low) {
      constexpr u64 too_many = std::numeric_limits<u64>::max();
      const u64 cycles = checked_mul(*high, checked_add(*low, u64{1}).value_or(too_many)).value_or(too_many);
      check_against(stated_.layers, checked_mul(cycles, *stacked).value_or(too_many),
                    "layers_per_stack × h_cycles × (l_cycles + 1) is", "layer");
    }
    if (!facts_.blocks || checked_mul(*stacked, 2) == facts_.blocks) return;
    log_.add(contradiction(), Scope::model, "gguf-hyper-parameter",
             fmt::format("is {}, of two stacks, but the tensors have {}", *stacked, counted(*facts_.blocks, "layer")),
             at_key(name), offset_of(name));
  }

  void check_against(const arch::Fact& fact, std::optional<u64> found, std::string_view who, std::string_view what) {
    const std::optional<u64> stated = fact.number();
    if (!stated || !found || *stated == *found) return;
    log_.add(contradiction(), Scope::model, "gguf-hyper-parameter",
             fmt::format("is {}, but {} {}", *stated, who, counted(*found, what)), at_key(fact.name),
             offset_of(fact.name));
  }

  // Arrays of per-layer values must have one element per layer.
  void check_per_layer_arrays() {
    const std::optional<u64> layers = stated_.layers.number();
    if (!layers) return;
    for (const arch::Fact* fact : {&stated_.feed_forward, &stated_.heads, &stated_.kv_heads}) {
      const arch::LayerNumbers* list = fact->list();
      if (list == nullptr || list->length == *layers) continue;
      log_.add(contradiction(), Scope::model, "gguf-per-layer-count",
               fmt::format("the array has {}, but needs one for each of the {}", counted(list->length, "element"),
                           counted(*layers, "layer")),
               at_key(fact->name), offset_of(fact->name));
    }
  }

  void check_experts() {
    const u64 used = stated_.experts_used.number().value_or(0);
    const u64 experts = stated_.experts.number().value_or(0);
    if (used <= experts && (experts == 0 || used != 0)) return;
    const arch::Fact& place = stated_.experts_used.is_stated() ? stated_.experts_used : stated_.experts;
    log_.add(contradiction(), Scope::model, "gguf-experts",
             fmt::format("{} of {} experts are used: llama.cpp aborts", used, experts),
             at_key(stated_.experts_used.name), offset_of(place.name));
  }

  // Attention heads are only checked for architectures known to have them; others state 0.
  static bool has_heads(const arch::Family& family) {
    const std::vector<const arch::Key*> keys = arch::keys_of(family);
    return std::ranges::any_of(keys, [](const arch::Key* key) { return key->symbol == arch::symbol::heads; });
  }
  void check_heads() {
    const std::string& name = stated_.heads.name;
    const std::optional<u64> heads = stated_.heads.number();
    if (known_ == nullptr || !heads || !has_heads(*known_)) return;
    const std::optional<u64> width = stated_.width.number();
    if (*heads == 0) {
      log_.warning(Scope::model, "gguf-heads", "is 0", at_key(name), offset_of(name));
    } else if (width && *width % *heads != 0 && !stated_.key_length.is_stated()) {
      log_.warning(
          Scope::model, "gguf-heads",
          fmt::format("is {}, which does not divide the embedding length {}, and there is no attention.key_length",
                      *heads, *width),
          at_key(name), offset_of(name));
    }
  }

  void check_rope() {
    const std::optional<std::string_view> type = stated_.rope_scaling.text();
    constexpr std::array<std::string_view, 4> types = {"none", "linear", "yarn", "longrope"};
    if (type && std::ranges::find(types, *type) == types.end()) {
      log_.warning(Scope::model, "gguf-rope", fmt::format("is '{}', llama.cpp supports {}", *type, joined(types)),
                   at_key(stated_.rope_scaling.name), offset_of(stated_.rope_scaling.name));
    }
    for (const arch::Fact* fact : {&stated_.rope_base, &stated_.rope_base_sliding}) {
      const std::optional<double> base = fact->real();
      if (!base || (std::isfinite(*base) && *base > 0)) continue;
      log_.warning(Scope::model, "gguf-rope", fmt::format("is {}, it must be a finite number greater than 0", *base),
                   at_key(fact->name), offset_of(fact->name));
    }
  }

  // Reports keys that llama.cpp requires. Only a note, because test files and partial models lack them legitimately.
  void check_required() {
    if (known_ == nullptr) return;
    for (const arch::Key* row : arch::keys_of(*known_)) {
      const bool is_required = row->need == arch::Need::required || arch::has_name(known_->loader_needs, row->name);
      if (!is_required || arch::has_name(known_->loads_without, row->name) || row->name == "attention.head_count")
        continue;
      const std::string name = index_.arch_key(row->name);
      if (index_.key(name) != nullptr) continue;
      log_.note(Scope::model, "gguf-key-missing", "the key is missing, but llama.cpp requires it", at_key(name));
    }
  }

  const gguf::Index& index_;
  const arch::Facts& stated_;
  const TensorFacts& facts_;
  FindingLog& log_;
  const arch::Family* known_;
};

}  // namespace

void check_hyper_parameters(const gguf::Index& index, const gguf::SetFile& first, const TensorFacts& facts,
                            FindingLog& log) {
  const Result<arch::Facts> stated = arch::read_facts(index, first);
  if (!stated) return log.add(without_path(stated.error(), Scope::model));
  ModelRules(index, *stated, facts, log).check();
}

// Checks general.file_type against the types of the weights.

namespace {

constexpr u64 guessed = 1024;     // set by llama.cpp if it only guessed the type
constexpr u64 super_block = 256;  // the mixes store rows that are not whole super-blocks in another type

// Returns the type of most weights in a mix: "Q4_K" for "Q4_K_M".
std::string_view main_type(std::string_view mix) {
  if (mix == "IQ2_M") return "IQ2_S";
  if (mix == "IQ3_M" || mix == "IQ3_XS") return "IQ3_S";
  if (mix.size() > 2 && mix.substr(0, mix.size() - 2).ends_with("_K")) mix.remove_suffix(2);
  return mix;
}

bool takes_other_types(u64 row, std::string_view type) {
  return type.find("_K") != type.npos || type.starts_with("IQ") || type.starts_with("TQ") ? row % super_block != 0
                                                                                          : false;
}

}  // namespace

void check_file_type(const gguf::SplitSet& set, const gguf::Index& index, FindingLog& log) {
  constexpr double most = 0.5;
  constexpr double hardly_any = 0.05;
  const auto code = index.unsigned_value("general.file_type");
  if (!code || (*code & guessed) != 0 || index.string_value("general.type").value_or("model") != "model") return;
  const std::string_view mix = gguf::file_type_name(*code);
  if (mix.empty()) return;
  const std::string_view wanted = main_type(mix);
  std::map<std::string_view, double> elements;
  double all = 0;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      const std::optional<TensorType> type = tensor.type();
      // In many mixes the embedding and the output have other types.
      const bool is_matrix = tensor.ne.size() >= 2 && tensor.name.starts_with("blk.");
      if (!type || !is_matrix || takes_other_types(tensor.ne[0], wanted)) continue;
      double count = 1;
      for (const u64 size : tensor.ne) count *= static_cast<double>(size);
      elements[type_name(*type)] += count;
      all += count;
    }
  }
  if (all == 0) return;
  const auto largest = std::ranges::max_element(elements, {}, [](const auto& each) { return each.second; });
  if (largest->first == "MXFP4" || largest->second < most * all || elements[wanted] > hardly_any * all) return;
  log.note(Scope::model, "gguf-file-type",
           fmt::format("says {}, but {:.0f} % of the layers' weights are {}", mix, 100 * largest->second / all,
                       largest->first),
           at_key("general.file_type"), index.key("general.file_type")->offset);
}

}  // namespace modelutils::gguf_rules

namespace modelutils {

// Checks the tensors of architectures that no directory converts to against those llama.cpp's loader asks for.

namespace {

// Returns the weight that a factor belongs to (any weight may have one for its values or its input), or the name
// itself.
std::string weight_of(std::string_view name) {
  for (const std::string_view suffix : {".input_scale", ".scale"}) {
    if (name.ends_with(suffix)) return std::string(name.substr(0, name.size() - suffix.size())) + ".weight";
  }
  return std::string(name);
}

}  // namespace

FindingLog runtime_findings(const gguf::SplitSet& set) {
  FindingLog log;
  const gguf::Index keys(set.files.front().document);
  const std::string_view known = arch::runtime_tensors(keys.architecture());
  if (known.empty() || keys.string_value("general.type").value_or("model") != "model") return log;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      if (arch::has_runtime_tensor(known, weight_of(tensor.name))) continue;
      log.warning(Scope::model, "loader-tensor-extra",
                  "is not one that llama.cpp asks for in this architecture, so it refuses the whole file",
                  at_tensor(tensor.name));
    }
  }
  return log;
}

}  // namespace modelutils

namespace modelutils::gguf_rules {

// Checks files that accompany a model (importance matrices, LoRA adapters), whose tensors come in pairs.

namespace {

struct Pair {
  std::string_view type_key, type;                ///< key and value that identify such a file
  std::string_view first, second;                 ///< name endings of the two tensors
  std::size_t first_dimension, second_dimension;  ///< dimensions that must be equal
  std::string_view code, what;
};
constexpr Pair pairs[] = {
    {"general.type", "imatrix", ".in_sum2", ".counts", 1, 1, "gguf-imatrix", "the number of matrices"},
    {"adapter.type", "lora", ".lora_a", ".lora_b", 1, 0, "gguf-lora", "the rank"},
};

// llama-quantize rejects an importance matrix without these keys.
void check_imatrix_keys(const gguf::Index& index, FindingLog& log) {
  if (index.string_value("general.type") != "imatrix") return;
  const gguf::ArrayRef* datasets = index.array_value("imatrix.datasets");
  const std::pair<std::string_view, bool> keys[] = {
      {"imatrix.datasets", datasets != nullptr && datasets->element_type == gguf::ValueType::string},
      {"imatrix.chunk_count", index.unsigned_value("imatrix.chunk_count").has_value()},
      {"imatrix.chunk_size", index.unsigned_value("imatrix.chunk_size").has_value()},
  };
  for (const auto& [key, is_there] : keys) {
    if (is_there) continue;
    log.error(Scope::model, "imatrix-keys", "the key is missing or of another type: this is not an importance matrix",
              at_key(key));
  }
}

u64 size_of(const gguf::TensorInfo& tensor, std::size_t dimension) {
  return dimension < tensor.ne.size() ? tensor.ne[dimension] : 1;
}

}  // namespace

void check_companion(const gguf::Document& document, const gguf::Index& index, FindingLog& log) {
  check_imatrix_keys(index, log);
  for (const Pair& pair : pairs) {
    if (index.string_value(pair.type_key) != pair.type) continue;
    for (const gguf::TensorInfo& tensor : document.tensors) {
      const std::string_view name = tensor.name;
      const bool is_first = name.ends_with(pair.first);
      if (!is_first && !name.ends_with(pair.second)) continue;
      const std::string_view own = is_first ? pair.first : pair.second;
      const std::string_view other = is_first ? pair.second : pair.first;
      const std::string wanted = std::string(name.substr(0, name.size() - own.size())) + std::string(other);
      const gguf::TensorInfo* found = index.tensor(wanted);
      if (found == nullptr) {
        log.error(Scope::model, pair.code, fmt::format("has no counterpart '{}'", wanted), at_tensor(name),
                  tensor.info_offset);
        continue;
      }
      // For an embedding both halves have the rank first.
      const std::size_t dimension = name == "token_embd.weight.lora_a" ? 0 : pair.first_dimension;
      if (is_first && size_of(tensor, dimension) != size_of(*found, pair.second_dimension)) {
        log.error(Scope::model, pair.code,
                  fmt::format("{} is {}, but {} in '{}'", pair.what, size_of(tensor, dimension),
                              size_of(*found, pair.second_dimension), wanted),
                  at_tensor(name), tensor.info_offset);
      }
    }
  }
}

}  // namespace modelutils::gguf_rules

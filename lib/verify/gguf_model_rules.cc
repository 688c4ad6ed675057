// Architecture and hyper-parameters against the tensors.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "arch/families.h"
#include "verify/gguf_rule_parts.h"
#include "verify/wording.h"

namespace modelutils::gguf_rules {

namespace {

using gguf::where_key;

class ModelRules {
 public:
  ModelRules(const gguf::Index& index, const TensorFacts& facts, FindingLog& log)
      : index_(index), facts_(facts), log_(log), known_(arch::find_family(index)) {}

  void check() {
    check_architecture();
    if (facts_.any_quantized && index_.key("general.quantization_version") == nullptr) {
      add(Severity::warning, "gguf-quantization-version", nullptr, key("general.quantization_version"),
          "the key is missing, although there are quantised tensors");
    }
    if (!facts_.any) {
      add(Severity::note, "gguf-no-tensors", nullptr, {},
          "the file has no tensors: it contains only keys, not a model");
      return;
    }
    if (is_part_of_a_model()) return;
    check_against("block_count", facts_.blocks, "the tensors have", "layer");
    check_against("embedding_length", facts_.embedding_size, "a row of token_embd.weight has", "element");
    check_per_layer_arrays();
    check_experts();
    check_heads();
    check_rope();
    check_required();
  }

 private:
  static std::string key(std::string_view name) { return where_key(name); }

  void check_architecture() {
    const gguf::KeyValue* entry = index_.key("general.architecture");
    if (entry == nullptr) {
      if (!facts_.any) return;
      return add(Severity::warning, "gguf-architecture-missing", nullptr, key("general.architecture"),
                 "the key is missing: no program can tell what the tensors mean");
    }
    if (entry->type() != gguf::ValueType::string) {
      add(Severity::error, "gguf-architecture-type", entry, key(entry->key),
          fmt::format("is of type {}, it must be STRING", gguf::value_type_name(entry->type())));
    } else if (index_.architecture().empty()) {
      add(Severity::warning, "gguf-architecture-missing", entry, key(entry->key),
          "is empty: no program can tell what the tensors mean");
    }
  }

  // Adapters, importance matrices, vision parts: they carry some of a model's tensors and few of its keys.
  bool is_part_of_a_model() const {
    const auto type = index_.string_value("general.type");
    return type && *type != "model";
  }

  // A known architecture refuses what contradicts its tensors; of others one can only say that it is odd.
  Severity contradiction() const { return known_ != nullptr ? Severity::error : Severity::warning; }

  void check_against(std::string_view suffix, std::optional<u64> found, std::string_view who, std::string_view what) {
    const std::string name = index_.arch_key(suffix);
    const std::optional<u64> stated = index_.unsigned_value(name);
    if (!stated || !found || *stated == *found) return;
    add(contradiction(), "gguf-hyper-parameter", index_.key(name), key(name),
        fmt::format("is {}, but {} {}", *stated, who, counted(*found, what)));
  }

  // Keys that may hold one number for each layer must then have one for each.
  void check_per_layer_arrays() {
    const std::optional<u64> layers = index_.unsigned_value(index_.arch_key("block_count"));
    if (!layers) return;
    for (const std::string_view suffix : {"feed_forward_length", "attention.head_count", "attention.head_count_kv"}) {
      const std::string name = index_.arch_key(suffix);
      const gguf::ArrayRef* array = index_.array_value(name);
      if (array == nullptr || array->count == *layers) continue;
      add(contradiction(), "gguf-per-layer-count", index_.key(name), key(name),
          fmt::format("the array has {}, but needs one for each of the {}", counted(array->count, "element"),
                      counted(*layers, "layer")));
    }
  }

  void check_experts() {
    const std::string name = index_.arch_key("expert_used_count");
    const u64 used = index_.unsigned_value(name).value_or(0);
    const u64 experts = index_.unsigned_value(index_.arch_key("expert_count")).value_or(0);
    if (used <= experts && (experts == 0 || used != 0)) return;
    const bool has_key = index_.key(name) != nullptr;
    add(contradiction(), "gguf-experts", has_key ? index_.key(name) : index_.key(index_.arch_key("expert_count")),
        key(name), fmt::format("{} of {} experts are used: llama.cpp aborts", used, experts));
  }

  // Only for architectures that are known to have attention heads: others say 0.
  static bool has_heads(const arch::Family& family) {
    const std::vector<const arch::Key*> keys = arch::keys_of(family);
    return std::ranges::any_of(keys, [](const arch::Key* key) { return key->symbol == arch::symbol::heads; });
  }
  void check_heads() {
    const std::string name = index_.arch_key("attention.head_count");
    const std::optional<u64> heads = index_.unsigned_value(name);
    if (known_ == nullptr || !heads || !has_heads(*known_)) return;
    const std::optional<u64> width = index_.unsigned_value(index_.arch_key("embedding_length"));
    if (*heads == 0) {
      add(Severity::warning, "gguf-heads", index_.key(name), key(name), "is 0");
    } else if (width && *width % *heads != 0 && index_.key(index_.arch_key("attention.key_length")) == nullptr) {
      add(Severity::warning, "gguf-heads", index_.key(name), key(name),
          fmt::format("is {}, which does not divide the embedding length {}, and there is no attention.key_length",
                      *heads, *width));
    }
  }

  void check_rope() {
    const std::string type_key = index_.arch_key("rope.scaling.type");
    const auto type = index_.string_value(type_key);
    constexpr std::array<std::string_view, 4> types = {"none", "linear", "yarn", "longrope"};
    if (type && std::ranges::find(types, *type) == types.end()) {
      add(Severity::warning, "gguf-rope", index_.key(type_key), key(type_key),
          fmt::format("is '{}', llama.cpp supports {}", *type, fmt::join(types, ", ")));
    }
    for (const std::string_view suffix : {"rope.freq_base", "rope.freq_base_swa"}) {
      const std::string name = index_.arch_key(suffix);
      const std::optional<double> base = index_.float_value(name);
      if (!base || (std::isfinite(*base) && *base > 0)) continue;
      add(Severity::warning, "gguf-rope", index_.key(name), key(name),
          fmt::format("is {}, it must be a finite number greater than 0", *base));
    }
  }

  // What llama.cpp cannot do without. Only a note: test files and parts of models lack it and are sound files.
  void check_required() {
    if (known_ == nullptr) return;
    for (const arch::Key* row : arch::keys_of(*known_)) {
      if (row->need != arch::Need::required || row->name == "attention.head_count") continue;
      const std::string name = index_.arch_key(row->name);
      if (index_.key(name) != nullptr) continue;
      add(Severity::note, "gguf-key-missing", nullptr, key(name), "the key is missing, but llama.cpp requires it");
    }
  }

  void add(Severity severity, std::string_view code, const gguf::KeyValue* entry, std::string where,
           std::string message) {
    const std::optional<u64> offset = entry == nullptr ? std::nullopt : std::optional<u64>(entry->offset);
    log_.add({severity, Scope::model, std::string(code), offset, std::move(where), std::move(message), {}});
  }

  const gguf::Index& index_;
  const TensorFacts& facts_;
  FindingLog& log_;
  const arch::Family* known_;
};

}  // namespace

void check_hyper_parameters(const gguf::Index& index, const TensorFacts& facts, FindingLog& log) {
  ModelRules(index, facts, log).check();
}

}  // namespace modelutils::gguf_rules

#include "rules/gguf/draft_rules.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/families/runtime_only.h"
#include "arch/prediction_block.h"
#include "base/counted.h"
#include "base/path.h"
#include "gguf/keys.h"
#include "gguf/parse.h"
#include "io/same_bytes.h"

namespace modelutils {

namespace {

constexpr std::string_view code = "gguf-together";

class DraftRules {
 public:
  DraftRules(const gguf::SplitSet& model, const gguf::SplitSet& draft, FindingLog& log)
      : model_file_(model.files.front()),
        draft_file_(draft.files.front()),
        model_(model_file_.document),
        draft_(draft_file_.document),
        is_block_(arch::is_prediction_alone(draft)),
        is_draft_(is_draft_alone(draft)),
        name_(base_name_of(model_file_.path)),
        log_(log) {}

  void check() {
    check_vocabulary();
    if (!is_draft_) return;  // a complete model
    check_width();
    if (is_block_) check_block();
    check_target_layers();
  }

 private:
  void say(const std::string& key, std::string message) {
    const gguf::KeyValue* entry = draft_.key(key);
    log_.error(Scope::model, code, std::move(message), at_key(key),
               entry == nullptr ? std::nullopt : std::optional(entry->offset));
  }

  // Proposed tokens are compared by id, so both vocabularies must agree.
  void check_vocabulary() {
    const std::string key = "tokenizer.ggml.tokens";
    const gguf::ArrayRef* own = draft_.array_value(key);
    const gguf::ArrayRef* theirs = model_.array_value(key);
    if (own == nullptr || theirs == nullptr) return;
    if (own->count != theirs->count) {
      return say(key, fmt::format("has {}, but '{}' has {}: token ids mean something else",
                                  counted(own->count, "token"), name_, theirs->count));
    }
    if (own->bytes != theirs->bytes ||
        !same_bytes(*draft_file_.source, own->offset, *model_file_.source, theirs->offset, own->bytes).value_or(true)) {
      say(key, fmt::format("differs from that of '{}': token ids mean something else", name_));
    }
  }

  // The first of these keys that is present gives the target's width.
  void check_width() {
    std::string key = draft_.arch_key("target_hidden_size");
    if (draft_.key(key) == nullptr) key = draft_.arch_key("embedding_length_out");
    if (draft_.key(key) == nullptr) key = draft_.arch_key("embedding_length");
    const auto own = draft_.unsigned_value(key);
    const auto width = model_.unsigned_value(model_.arch_key("embedding_length"));
    if (!own || !width || *own == *width) return;
    say(key, fmt::format("is {}, but '{}' is {} wide: this draft belongs to another model", *own, name_, *width));
  }

  void check_block() {
    if (draft_.architecture() != model_.architecture()) {
      return say("general.architecture",
                 fmt::format("is '{}', but '{}' is '{}'", draft_.architecture(), name_, model_.architecture()));
    }
    const std::string count = draft_.arch_key("block_count"), extra = draft_.arch_key("nextn_predict_layers");
    const u64 own = draft_.unsigned_value(count).value_or(0) - draft_.unsigned_value(extra).value_or(0);
    const u64 theirs = model_.unsigned_value(count).value_or(0) - model_.unsigned_value(extra).value_or(0);
    if (own == theirs) return;
    say(count, fmt::format("puts the block after {}, but '{}' has {}", counted(own, "layer"), name_, theirs));
  }

  void check_target_layers() {
    const std::string key = draft_.arch_key("target_layers");
    const gguf::ArrayRef* array = draft_.array_value(key);
    const auto layers = model_.unsigned_value(model_.arch_key("block_count"));
    constexpr u64 most = 512;
    if (array == nullptr || !layers || gguf::value_size(array->element_type) == 0) return;
    const auto numbers = gguf::read_numbers<u64>(*draft_file_.source, draft_file_.document, *array, 0, most);
    if (!numbers) return;
    // The layer count itself is allowed: it stands for the last layer's output.
    const auto wrong = std::ranges::find_if(*numbers, [&](u64 layer) { return layer > *layers; });
    if (wrong == numbers->end()) return;
    say(key, fmt::format("reads layer {}, but '{}' has {}", *wrong, name_, counted(*layers, "layer")));
  }

  const gguf::SetFile& model_file_;
  const gguf::SetFile& draft_file_;
  gguf::Index model_, draft_;
  bool is_block_, is_draft_;
  std::string name_;
  FindingLog& log_;
};

}  // namespace

bool is_draft_alone(const gguf::SplitSet& set) {
  return arch::is_prediction_alone(set) ||
         arch::is_draft_architecture(gguf::Index(set.files.front().document).architecture());
}

void check_draft(const gguf::SplitSet& model, const gguf::SplitSet& draft, FindingLog& log) {
  DraftRules(model, draft, log).check();
}

}  // namespace modelutils

// Rules for models that give vectors or scores instead of text: how vectors of tokens become one, and a classifier's
// rows.
#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "arch/facts.h"
#include "arch/families.h"
#include "base/text.h"
#include "formats/hf/sentence_modules.h"
#include "rules/gguf/rule_parts.h"

namespace modelutils::gguf_rules {

namespace {

class EmbeddingRules {
 public:
  EmbeddingRules(const gguf::SplitSet& set, const gguf::Index& index, FindingLog& log)
      : set_(set), index_(index), log_(log) {}

  void check() {
    const Result<arch::Facts> stated = arch::read_facts(index_, set_.files.front());
    // A projector's key of this name describes how its tower merges patches.
    if (!stated || stated->architecture == "clip") return;
    check_pooling(*stated);
    check_global_layer(*stated);
  }

 private:
  const gguf::TensorInfo* tensor(std::string_view name) const {
    for (const gguf::SetFile& file : set_.files) {
      for (const gguf::TensorInfo& one : file.document.tensors) {
        if (one.name == name) return &one;
      }
    }
    return nullptr;
  }

  void check_pooling(const arch::Facts& stated) {
    const std::optional<u64> pooling = stated.pooling.number();
    if (!pooling) return;
    if (*pooling > static_cast<u64>(hf::Pooling::rank)) {
      log_.error(Scope::model, "gguf-pooling",
                 fmt::format("is {}, which is no kind of pooling: llama.cpp ends the process", *pooling),
                 at_key(stated.pooling.name));
      return;
    }
    if (*pooling != static_cast<u64>(hf::Pooling::rank)) return;
    const bool has_tensors =
        std::ranges::any_of(set_.files, [](const gguf::SetFile& file) { return !file.document.tensors.empty(); });
    if (!has_tensors || tensor("cls.weight") != nullptr || tensor("cls.output.weight") != nullptr) return;
    log_.error(Scope::model, "gguf-pooling",
               "is 4 (rank), but the file has no classifier (cls.weight, cls.output.weight), so there are no scores",
               at_key(stated.pooling.name));
  }

  // Without a cache, llama.cpp needs the masks of local and of global layers, and aborts if no layer is global.
  void check_global_layer(const arch::Facts& stated) {
    const arch::CacheFacts* facts = arch::find_cache_facts(stated.architecture);
    if (facts == nullptr || facts->has_cache || facts->windows.rule != arch::Windows::Rule::period) return;
    if (stated.window_pattern.list() != nullptr) return;
    const u64 period = stated.window_pattern.number().value_or(facts->windows.period);
    const std::optional<u64> layers = stated.layers.number();
    if (!layers || (period > 0 && period <= *layers)) return;
    log_.error(Scope::model, "gguf-pooling",
               fmt::format("is {}{}, so none of the {} sees the whole text: llama.cpp aborts", period,
                           stated.window_pattern.is_stated() ? "" : " by default", counted(*layers, "layer")),
               at_key(stated.window_pattern.name));
  }

  const gguf::SplitSet& set_;
  const gguf::Index& index_;
  FindingLog& log_;
};

}  // namespace

void check_embedding(const gguf::SplitSet& set, const gguf::Index& index, FindingLog& log) {
  EmbeddingRules(set, index, log).check();
}

}  // namespace modelutils::gguf_rules

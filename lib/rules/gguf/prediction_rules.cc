#include "rules/gguf/prediction_rules.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/families.h"
#include "arch/prediction_block.h"
#include "base/counted.h"

namespace modelutils {

namespace {

constexpr std::string_view count_key = "nextn_predict_layers";

std::optional<u64> blocks_of(const gguf::SplitSet& set) {
  std::optional<u64> blocks;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) {
      if (const auto block = arch::block_of(tensor.name)) blocks = std::max(blocks.value_or(0), *block + 1);
    }
  }
  return blocks;
}

// True if llama.cpp loads a file without its prediction blocks: it either treats them as optional or does not know
// them. It counts layers that share keys from the last block, so without that block one layer too many needs keys.
bool loads_without_prediction(const arch::Family& family) {
  return family.cache.may_lack_prediction ||
         (family.cache.prediction == arch::PredictionBlocks::unknown && !family.cache.shares_last_layers);
}

}  // namespace

bool lacks_prediction(const gguf::Index& index, std::optional<u64> blocks) {
  const u64 extra = index.unsigned_value(index.arch_key(count_key)).value_or(0);
  const std::optional<u64> stated = index.unsigned_value(index.arch_key("block_count"));
  return extra > 0 && stated && blocks && *blocks < *stated && *stated - *blocks == extra;
}

FindingLog prediction_findings(const gguf::SplitSet& set) {
  FindingLog log;
  const gguf::Index index(set.files.front().document);
  const arch::Family* family = arch::find_family(index);
  const std::string name = index.arch_key(count_key);
  if (arch::is_prediction_alone(set)) {
    log.warning(Scope::model, "gguf-prediction-alone",
                "the file has only multi-token prediction (MTP) blocks: it is not a complete model, and llama.cpp "
                "crashes when running it alone",
                at_key(name));
  }
  if (family == nullptr || !lacks_prediction(index, blocks_of(set))) return log;
  const u64 extra = index.unsigned_value(name).value_or(0);
  const bool loads = loads_without_prediction(*family);
  log.add(
      loads ? Severity::note : Severity::error, Scope::model, "gguf-prediction-absent",
      fmt::format("counts {} that {} missing from the file: llama.cpp {}", counted(extra, "block"),
                  verb(extra, "is", "are"),
                  loads ? fmt::format("loads the model without {}", verb(extra, "it", "them"))
                        : fmt::format("refuses the file; take {} off block_count and set {} to 0", extra, count_key)),
      at_key(name), index.key(name)->offset);
  return log;
}

}  // namespace modelutils

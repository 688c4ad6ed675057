#include "edit/block_counts.h"

#include <algorithm>

#include "gguf/key_elements.h"

namespace modelutils::edit {

u64 count_of(EditedModel& model, const std::string& key) {
  const gguf::OutKey* found = model.find_key(key);
  if (found == nullptr || found->type != gguf::ValueType::u32) return 0;
  return gguf::elements_of(*found).number(0).value_or(0);
}

BlockCounts counts_of(EditedModel& model) {
  BlockCounts counts;
  const gguf::OutKey* name = model.find_key("general.architecture");
  if (name != nullptr && name->type == gguf::ValueType::string) {
    counts.architecture = name->encoded.substr(std::min(name->encoded.size(), sizeof(u64)));
  }
  counts.blocks = count_of(model, counts.key("block_count"));
  counts.predicting = std::min(counts.blocks, count_of(model, counts.key("nextn_predict_layers")));
  return counts;
}

}  // namespace modelutils::edit

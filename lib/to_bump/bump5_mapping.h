// What the BUMPWGT5 file of a GGUF model holds: every entry with the recipe of its bytes, and what has no place in it.
// The converter streams by it, verify --against compares by it. Source: docs/formats/bump5.md.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "bump/bump5_layout.h"
#include "gguf/split_set.h"
#include "to_bump/bump5_vocabulary.h"
#include "to_bump/source.h"

namespace modelutils {

struct Bump5Entry {
  bump5::Entry entry;
  std::vector<BumpPart> parts;
  std::vector<std::string> sources;  ///< GGUF tensors it is made of; empty for zeros and the vocabulary
};

struct Bump5Mapping : BumpPlan {
  const arch::Family* family = nullptr;  ///< nullptr only after a refusal
  bump5::Header header;                  ///< the checksum still zero
  bump5::Features features;
  std::vector<Bump5Entry> entries;  ///< in payload order; empty if `refusals` is not
  std::shared_ptr<const Bump5Vocabulary> vocabulary;
  RopeScalingKeys scaling;
  u64 sliding_window = 0;  ///< 0: none
  bool has_attention_biases = false;
  /// Tensors written as another type: how many by what it was and what it is now.
  std::map<std::pair<TensorType, TensorType>, u64> substitutes;

  u64 payload_end() const { return file_size; }
};

/// Plans the file from header and tokenizer. The set must be complete and without errors (rules/gguf/rules.h tells),
/// and outlive what reads by the plan. `file_size` is that of header, table and payload: the metadata is made of it.
/// Everything that cannot be carried is in `refusals`. Errors: reading.
Result<Bump5Mapping> map_gguf_to_bump5(const gguf::SplitSet& set, const BumpRequest& request);

}  // namespace modelutils

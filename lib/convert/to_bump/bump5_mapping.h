// The plan of a BUMPWGT5 file from a GGUF model: every entry with the recipe for its bytes, and the tensors that do not
// fit in. Used for conversion and for verify --against. Source: docs/formats/bump5.md.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "convert/to_bump/from_keys.h"
#include "convert/to_bump/source.h"
#include "formats/bump/bump5_layout.h"
#include "formats/gguf/split_set.h"

namespace modelutils {

struct Bump5Entry {
  bump5::Entry entry;
  std::vector<BumpPart> parts;
  std::vector<std::string> sources;  ///< GGUF tensors used; empty for zeros and the vocabulary
};

struct Bump5Mapping : BumpPlan {
  const arch::Family* family = nullptr;  ///< nullptr only after a refusal
  bump5::Header header;                  ///< the checksum is still zero
  bump5::Features features;
  std::vector<Bump5Entry> entries;  ///< in payload order; empty if there are refusals
  std::shared_ptr<const Bump5Vocabulary> vocabulary;
  RopeScalingKeys scaling;
  u64 sliding_window = 0;  ///< 0: none
  bool has_attention_biases = false;
  /// Tensors written as another type: counts by source and target type.
  std::map<std::pair<TensorType, TensorType>, u64> substitutes;

  u64 payload_end() const { return file_size; }
};

/// Plans the file from header and tokenizer. The set must be complete and without errors (rules/gguf/rules.h checks
/// this), and must outlive the plan's users. `file_size` covers header, table and payload, because the metadata is
/// derived from them. Everything that cannot be converted is in `refusals`. Errors: read errors.
Result<Bump5Mapping> map_gguf_to_bump5(const gguf::SplitSet& set, const BumpRequest& request);

}  // namespace modelutils

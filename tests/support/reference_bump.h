// Reference implementation of BUMPWGT3, written from docs/formats/bump.md: in memory, slow, and independent of
// lib/formats/bump. Tests compare the converter with it.
#pragma once

#include <string>
#include <vector>

#include "support/llama_model.h"

namespace modelutils::test {

struct ReferenceOptions {
  u64 align_head = 1;
  u64 context = 0;  ///< 0: the model's own
  bool renumbered = false;
  bool split_halves = false;  ///< for Q and K of llama, and F32 wo
};

struct ReferenceEntry {
  std::string name;
  u64 offset;
  std::string bytes;
};

struct ReferenceBump {
  std::string bytes;  ///< the whole file
  std::vector<ReferenceEntry> entries;
};

ReferenceBump reference_bump(LlamaModel model, const ReferenceOptions& options = {});

}  // namespace modelutils::test

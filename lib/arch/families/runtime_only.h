// Architectures that llama.cpp runs but no directory converts to. Only what they keep in memory and the tensors that
// their loaders ask for are known.
#pragma once

#include <span>

#include "arch/cache_facts.h"

namespace modelutils::arch {

struct RuntimeArchitecture {
  std::string_view names;  ///< general.architecture; several separated by '|'
  CacheFacts cache = {};
  bool is_draft = false;
};

std::span<const RuntimeArchitecture> runtime_architectures();

/// True for drafts, which read the layers or the cache of another model and are useless without it.
bool is_draft_architecture(std::string_view architecture);

/// Returns the tensors that such an architecture's loader asks for, separated by spaces; empty if unknown.
std::string_view runtime_tensors(std::string_view architecture);
/// True if `name` ("blk.3.attn_q.weight") is one of them.
bool has_runtime_tensor(std::string_view tensors, std::string_view name);

}  // namespace modelutils::arch

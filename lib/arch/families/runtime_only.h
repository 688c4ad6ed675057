// Architectures that llama.cpp runs and no directory is converted to: known of them is what they keep in
// memory, and which tensors their loaders ask for.
#pragma once

#include <span>

#include "arch/cache_facts.h"

namespace modelutils::arch {

struct RuntimeArchitecture {
  std::string_view names;  ///< general.architecture; several with '|'
  CacheFacts cache = {};
  bool is_draft = false;
};

std::span<const RuntimeArchitecture> runtime_architectures();

/// Is it a draft, which reads the layers or the cache of another model and gives nothing without it?
bool is_draft_architecture(std::string_view architecture);

/// The tensors that the loader of such an architecture asks for, apart by blanks; empty where nothing is known.
std::string_view runtime_tensors(std::string_view architecture);
/// Is `name` ("blk.3.attn_q.weight") among them?
bool has_runtime_tensor(std::string_view tensors, std::string_view name);

}  // namespace modelutils::arch

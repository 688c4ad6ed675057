// Architectures that llama.cpp runs but to which no directory can be converted. Only their memory use and the tensors
// that their loaders ask for are known.
#pragma once

#include <span>

#include "arch/family_facts.h"

namespace modelutils::arch {

struct RuntimeArchitecture {
  std::string_view names;  ///< general.architecture; several separated by '|'
  CacheFacts cache = {};
  bool is_draft = false;
};

std::span<const RuntimeArchitecture> runtime_architectures();

/// True for draft models, which read the layers or the cache of another model and are useless without it.
bool is_draft_architecture(std::string_view architecture);

/// Returns the tensors that such an architecture's loader asks for, separated by spaces; empty if unknown.
std::string_view runtime_tensors(std::string_view architecture);
/// Returns the tensors that the loader of a family's architecture takes besides those in the family's rows: prediction
/// blocks, tables and towers that no directory gives. Separated by spaces.
std::string_view further_tensors(std::string_view architecture);
/// True if `name` ("blk.3.attn_q.weight") is in a list that one of these two functions returned.
bool has_runtime_tensor(std::string_view tensors, std::string_view name);

}  // namespace modelutils::arch

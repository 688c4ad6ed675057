// Architectures that llama.cpp runs and no directory is converted to: nothing is known of them but what they keep in
// memory.
#pragma once

#include <span>

#include "arch/cache_facts.h"

namespace modelutils::arch {

struct RuntimeArchitecture {
  std::string_view names;  ///< general.architecture; several with '|'
  CacheFacts cache = {};
};

std::span<const RuntimeArchitecture> runtime_architectures();

}  // namespace modelutils::arch

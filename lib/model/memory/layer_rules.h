// Determines which layers have a sliding window and which have a recurrent state (docs/memory.md, "Rules"), from
// hyper-parameters as llama.cpp's loader takes them: numbers have at most 32 bits, a flag counts as 0 or 1.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/facts.h"
#include "base/error.h"
#include "model/memory/hyper_parameters.h"

namespace modelutils::memory {

// Reads stated hyper-parameters as llama.cpp's loader does. Numbers have at most 32 bits, a flag counts as 0 or 1.

/// The loader's maximum block count.
inline constexpr u64 max_blocks = 512;

// Errors name the key: "fit-key" (missing, of another type, more than 32 bits), "fit-layers" (a list whose length is
// not the layer count).

/// Returns nullopt if the fact is not stated.
Result<std::optional<u64>> find_number(const arch::Fact& fact);
/// Returns the number, or `missing` if it is not stated.
Result<u64> number_of(const arch::Fact& fact, u64 missing);
/// `because` is appended to "is missing" in the error.
Result<u64> needed_number(const arch::Fact& fact, std::string_view because = {});
/// Returns a number or flag for each of `count` layers; a single value is repeated. Returns nullopt if the fact is not
/// stated. A list may also have `or_count` elements; missing ones are 0.
Result<std::optional<std::vector<u64>>> find_layers(const arch::Fact& fact, u64 count, u64 or_count);
/// Like find_layers(), but repeats `missing` for each layer if the fact is not stated.
Result<std::vector<u64>> layers_of(const arch::Fact& fact, u64 count, u64 missing);

/// Returns error "fit-key", located at the fact's key.
tl::unexpected<Error> wrong(const arch::Fact& fact, std::string message);

/// Fill in the settings from the architecture's facts and what the model states. Heads and sizes must already be set.
/// Errors: "fit-key" and "fit-layers", as above.
Status read_windows(const arch::Facts& stated, HyperParameters& model);
Status read_recurrence(const arch::Facts& stated, HyperParameters& model);
Status read_indexer(const arch::Facts& stated, HyperParameters& model);

}  // namespace modelutils::memory

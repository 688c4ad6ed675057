// The models of all stores and equal files among them, as text and as JSON.
#pragma once

#include <string>

#include "io/standard_output.h"
#include "report/table.h"
#include "store/store_list.h"

namespace modelutils {

/// Writes a line per model: name, architecture, parameters, type, size, state, path. `width`: columns of the terminal;
/// 0: not limited.
void write_store_list(TextOutput& out, const StoreList& list, std::size_t width, const Style& style);

/// Returns one object on one line (docs/json.md, "ls/1").
std::string store_list_json(const StoreList& list);

/// Writes the groups of equal files and what sharing them would save.
void write_duplicates(TextOutput& out, const Duplicates& duplicates);

/// Returns one object on one line (docs/json.md, "duplicates/1").
std::string duplicates_json(const Duplicates& duplicates);

}  // namespace modelutils

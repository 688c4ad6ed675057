// Generates docs/architectures.md from the tables in lib/arch.
#pragma once

#include <string>

namespace modelutils::generate {

/// Returns the whole page as Markdown.
std::string architectures_page();

}  // namespace modelutils::generate

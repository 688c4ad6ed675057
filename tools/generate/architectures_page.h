// docs/architectures.md, written from the rows of lib/arch.
#pragma once

#include <string>

namespace modelutils::generate {

/// The whole page, Markdown.
std::string architectures_page();

}  // namespace modelutils::generate

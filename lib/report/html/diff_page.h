// The HTML page of a model comparison: changes, type conversions, and the distribution of the error.
#pragma once

#include <string_view>

#include "compare/compare.h"
#include "report/html/html_page.h"

namespace modelutils {

/// Fills and finishes `page`. `program`: the name of the generating program. Errors: those of reading keys.
Status write_diff_page(HtmlPage& page, const ModelDiff& diff, std::string_view program);

}  // namespace modelutils

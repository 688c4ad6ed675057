// The page about two models: what changed, which types became which, and where the error sits.
#pragma once

#include <string_view>

#include "compare/compare.h"
#include "report/html/html_page.h"

namespace modelutils {

/// Fills and finishes `page`. `program`: what writes it. Errors: those of reading keys.
Status write_diff_page(HtmlPage& page, const ModelDiff& diff, std::string_view program);

}  // namespace modelutils

// Why a text is not JSON, in words.
#pragma once

#include <string_view>

namespace modelutils::json {

/// What is wrong with a text that simdjson refuses. `simdjson_error` is a simdjson::error_code; an int here, so that
/// this header does not include simdjson's.
std::string_view syntax_text(int simdjson_error);

}  // namespace modelutils::json

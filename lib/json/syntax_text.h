// Descriptions of JSON syntax errors.
#pragma once

#include <string_view>

namespace modelutils::json {

/// Describes the error of a text that simdjson refuses. `simdjson_error` is a simdjson::error_code, passed as an int to
/// keep simdjson's header out of this one.
std::string_view syntax_text(int simdjson_error);

}  // namespace modelutils::json

// What a chat template has no business to do, found without rendering it.
#pragma once

#include <string_view>
#include <vector>

#include "template/remark.h"
#include "template/template.h"

namespace modelutils::jinja {

/// Attributes that lead out of the sandbox, also where their names are put together; templates that are loaded; calls
/// of what no program offers; hidden text in escapes; sizes and loops that explode; text that cannot be reached or is
/// given a name that nothing reads. Time and memory in proportion to the template. `source`: what `parsed` was parsed
/// from.
std::vector<Remark> inspect(const Template& parsed, std::string_view source);

}  // namespace modelutils::jinja

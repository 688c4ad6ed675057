// Static checks for code that has no place in a chat template.
#pragma once

#include <string_view>
#include <vector>

#include "template/remark.h"
#include "template/template.h"

namespace modelutils::jinja {

/// Reports, without rendering: attributes that escape the sandbox, also if their names are concatenated from pieces;
/// loading other templates; calls of functions that no program provides; hidden text in escapes; exploding sizes and
/// loops; text that is unreachable or assigned to an unused name. Linear in the template's size. `source` is the text
/// from which `parsed` was parsed.
std::vector<Remark> inspect(const Template& parsed, std::string_view source);

}  // namespace modelutils::jinja

// The keys of PEFT's rank_pattern and alpha_pattern.
#pragma once

#include <string_view>

namespace modelutils::adapter {

/// Does `pattern` name the module `name`, as re.match(r"(.*\.)?(PATTERN)$", name) does? Understands what such keys are
/// made of: letters as themselves, '.', '\d', '\.', a '*' or '+' behind one of these, '^' in front. In the time of the
/// product of both lengths.
bool names_module(std::string_view pattern, std::string_view name);

/// Is it made of nothing else?
bool is_module_pattern(std::string_view pattern);

}  // namespace modelutils::adapter

// docs/findings.md as the build embeds it (findings_page.cmake).
#pragma once

#include <string_view>

namespace modelutils {

std::string_view findings_page();

}  // namespace modelutils

#include "report/member_names.h"

#include <fmt/core.h>

#include "base/utf8.h"

namespace modelutils {

namespace {

std::string replace_bad_bytes(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    append_utf8(out, point.valid ? point.value : 0xFFFD);
    text.remove_prefix(point.size);
  }
  return out;
}

}  // namespace

std::string_view MemberNames::claim(std::string_view text, bool& altered) {
  altered = false;
  std::string_view name = text;
  if (!is_utf8(text)) {
    name = keep(replace_bad_bytes(text));
    altered = true;
  }
  if (names_.insert(name).is_new) {
    uses_.push_back(1);
    return name;
  }
  altered = true;
  const u32 base = *names_.find(name);
  while (true) {
    const std::string_view next = keep(fmt::format("{}#{}", name, ++uses_[base]));
    if (names_.insert(next).is_new) {
      uses_.push_back(1);
      return next;
    }
    kept_.pop_back();
  }
}

}  // namespace modelutils

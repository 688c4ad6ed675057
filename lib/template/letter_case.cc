// Case conversion with Python's semantics (template/python_text.h).
#include <utf8proc.h>

#include "base/utf8.h"
#include "template/python_text.h"

namespace modelutils::jinja {

namespace {

utf8proc_category_t category_of(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(c));
}

bool is_cased(char32_t c) {
  const auto of = category_of(c);
  return of == UTF8PROC_CATEGORY_LU || of == UTF8PROC_CATEGORY_LL || of == UTF8PROC_CATEGORY_LT;
}

// True for letters whose upper case is several letters (Unicode's SpecialCasing.txt) and which special_upper() lacks.
bool has_unknown_upper(char32_t c) {
  return c == 0x149 || c == 0x1f0 || c == 0x390 || c == 0x3b0 || c == 0x587 || (c >= 0x1e96 && c <= 0x1e9a) ||
         (c >= 0x1f50 && c <= 0x1f56) || (c >= 0x1f80 && c <= 0x1fff) || (c >= 0xfb13 && c <= 0xfb17);
}

// Returns the upper case of German sharp s and of the Latin ligatures, the only such letters common in texts.
std::string_view special_upper(char32_t c) {
  switch (c) {
    case 0xdf: return "SS";
    case 0xfb00: return "FF";
    case 0xfb01: return "FI";
    case 0xfb02: return "FL";
    case 0xfb03: return "FFI";
    case 0xfb04: return "FFL";
    case 0xfb05: return "ST";
    case 0xfb06: return "ST";
    default: return {};
  }
}

bool append_upper(std::string& out, char32_t c) {
  if (has_unknown_upper(c)) return false;
  if (const std::string_view special = special_upper(c); !special.empty()) {
    out += special;
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
  }
  return true;
}

// Appends the title case of a word's first letter; for a ligature, the first letter upper and the rest lower.
bool append_title(std::string& out, char32_t c) {
  if (has_unknown_upper(c)) return false;
  if (const std::string_view special = special_upper(c); !special.empty()) {
    out += special[0];
    for (const char more : special.substr(1)) out += static_cast<char>(more - 'A' + 'a');
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_totitle(static_cast<utf8proc_int32_t>(c))));
  }
  return true;
}

// A sigma at the end of a word has another lower case.
bool is_final_sigma(std::string_view before, std::string_view after) {
  const auto is_skipped = [](char32_t c) {
    const auto of = category_of(c);
    return of == UTF8PROC_CATEGORY_MN || of == UTF8PROC_CATEGORY_ME || of == UTF8PROC_CATEGORY_CF ||
           of == UTF8PROC_CATEGORY_LM || of == UTF8PROC_CATEGORY_SK || c == '\'' || c == '.' || c == ':' || c == 0xb7 ||
           c == 0x2019;
  };
  while (!after.empty()) {
    const CodePoint point = decode_utf8(after);
    if (!is_skipped(point.value)) {
      if (is_cased(point.value)) return false;
      break;
    }
    after.remove_prefix(point.size);
  }
  while (!before.empty()) {
    std::size_t begin = before.size() - 1;
    while (begin > 0 && (static_cast<u8>(before[begin]) & 0xc0) == 0x80) --begin;
    const char32_t c = decode_utf8(before.substr(begin)).value;
    if (!is_skipped(c)) return is_cased(c);
    before = before.substr(0, begin);
  }
  return false;
}

void append_lower(std::string& out, std::string_view text, std::size_t at, char32_t c, std::size_t size) {
  if (c == 0x130) {
    out += "i\u0307";
  } else if (c == 0x3a3) {
    out += is_final_sigma(text.substr(0, at), text.substr(at + size)) ? "\u03c2" : "\u03c3";
  } else {
    append_utf8(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
  }
}

}  // namespace

std::optional<std::string> upper(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  if (!each_character(text, [&](char32_t c, std::size_t, std::size_t) { return append_upper(out, c); })) return {};
  return out;
}

std::optional<std::string> lower(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  each_character(text, [&](char32_t c, std::size_t at, std::size_t size) {
    append_lower(out, text, at, c, size);
    return true;
  });
  return out;
}

std::optional<std::string> capitalize(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const bool known = each_character(text, [&](char32_t c, std::size_t at, std::size_t size) {
    if (at == 0) return append_title(out, c);
    append_lower(out, text, at, c, size);
    return true;
  });
  return known ? std::optional(std::move(out)) : std::nullopt;
}

std::optional<std::string> title(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  bool in_word = false;
  const bool known = each_character(text, [&](char32_t c, std::size_t at, std::size_t size) {
    const bool begins = !in_word;
    in_word = is_cased(c);
    if (begins) return append_title(out, c);
    append_lower(out, text, at, c, size);
    return true;
  });
  return known ? std::optional(std::move(out)) : std::nullopt;
}

bool is_upper(std::string_view text) {
  bool any = false;
  return each_character(text,
                        [&](char32_t c, std::size_t, std::size_t) {
                          const auto of = category_of(c);
                          any = any || of == UTF8PROC_CATEGORY_LU;
                          return of != UTF8PROC_CATEGORY_LL && of != UTF8PROC_CATEGORY_LT;
                        }) &&
         any;
}

bool is_lower(std::string_view text) {
  bool any = false;
  return each_character(text,
                        [&](char32_t c, std::size_t, std::size_t) {
                          const auto of = category_of(c);
                          any = any || of == UTF8PROC_CATEGORY_LL;
                          return of != UTF8PROC_CATEGORY_LU && of != UTF8PROC_CATEGORY_LT;
                        }) &&
         any;
}

}  // namespace modelutils::jinja

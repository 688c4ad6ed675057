#include "template/suspicious_names.h"

#include <algorithm>
#include <array>

#include "base/escape.h"
#include "template/literals.h"

namespace modelutils::jinja {

namespace {

template <std::size_t count>
bool is_one_of(std::string_view name, const std::array<std::string_view, count>& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 8> globals = {"range",  "dict",      "lipsum",          "cycler",
                                                     "joiner", "namespace", "raise_exception", "strftime_now"};
constexpr std::array<std::string_view, 4> block_names = {"caller", "self", "super", "loop"};
constexpr std::array<std::string_view, 12> modules = {"os",     "sys",      "subprocess", "shutil",
                                                      "socket", "builtins", "pickle",     "importlib",
                                                      "posix",  "pty",      "ctypes",     "platform"};
// Attributes that lead to Python's frames, code and functions: the sandbox's list of unsafe ones.
constexpr std::array<std::string_view, 21> unsafe_names = {
    "mro",          "gi_frame",      "gi_code",   "cr_frame", "cr_code",    "ag_frame",     "ag_code",
    "f_back",       "f_globals",     "f_locals",  "f_code",   "f_builtins", "func_globals", "func_code",
    "func_closure", "func_defaults", "func_dict", "im_func",  "im_self",    "im_class",     "tb_frame"};
constexpr std::array<std::string_view, 4> telling_words = {"class", "globals", "builtins", "getattribute"};
constexpr std::array<std::string_view, 13> naming_filters = {"attr",       "map",    "select",  "reject", "selectattr",
                                                             "rejectattr", "sort",   "groupby", "sum",    "min",
                                                             "max",        "unique", "format"};
constexpr std::array<std::string_view, 6> widths = {"center", "indent", "ljust", "rjust", "zfill", "expandtabs"};

}  // namespace

bool is_ascii_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool is_unsafe(std::string_view name) {
  if (name.starts_with("__") && name.size() > 2 && name.find_first_not_of('_') != name.npos) return true;
  return is_one_of(name, unsafe_names);
}

std::string_view unsafe_part(std::string_view path) {
  for (std::size_t begin = 0; begin < path.size();) {
    std::size_t end = begin;
    while (end < path.size() && (is_ascii_word(path[end]) || path[end] == unknown_piece)) ++end;
    if (is_unsafe(path.substr(begin, end - begin))) return path.substr(begin, end - begin);
    begin = end + 1;
  }
  return {};
}

std::string_view unsafe_piece(std::string_view joined) {
  if (const std::string_view name = unsafe_part(joined); !name.empty()) return name;
  // "x__class__x", later cut by a slice or strip().
  for (std::size_t begin = joined.find("__"); begin != joined.npos; begin = joined.find("__", begin + 1)) {
    std::size_t end = begin + 2;
    while (end < joined.size() && is_ascii_word(joined[end]) && joined[end] != '_') ++end;
    if (end > begin + 2 && joined.substr(end).starts_with("__")) return joined.substr(begin, end + 2 - begin);
  }
  // "%c%cclass%c%c": the underscores are inserted later.
  for (const std::string_view word : telling_words) {
    if (const std::size_t at = joined.find(word); at != joined.npos) return joined.substr(at, word.size());
  }
  return {};
}

std::string_view unsafe_field(std::string_view text) {
  for (std::size_t open = text.find('{'); open != text.npos; open = text.find('{', open + 1)) {
    const std::string_view field = text.substr(open + 1, text.find('}', open) - open - 1);
    if (const std::string_view name = unsafe_part(field); !name.empty()) return name;
    open += field.size();
    if (open >= text.size()) break;
  }
  return {};
}

bool is_global(std::string_view name) {
  return is_one_of(name, globals);
}

bool is_block_name(std::string_view name) {
  return is_one_of(name, block_names);
}

bool is_module(std::string_view name) {
  return is_one_of(name, modules);
}

bool takes_names(std::string_view filter) {
  return is_one_of(filter, naming_filters);
}

bool takes_width(std::string_view name) {
  return is_one_of(name, widths);
}

std::string shown(std::string_view name) {
  std::string text;
  for (const char c : name.substr(0, 64)) text += c == unknown_piece ? "…" : std::string(1, c);
  return escape(text);
}

}  // namespace modelutils::jinja

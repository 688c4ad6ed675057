// The tables of built-in filters, tests and methods. A null entry exists in Jinja, but is not supported here.
#pragma once

#include <string_view>

#include "template/calls.h"

namespace modelutils::jinja {

/// Returns nullptr if Jinja has no such filter.
const Native* find_filter(std::string_view name);
inline bool is_filter(std::string_view name) {
  return find_filter(name) != nullptr;
}
/// True if Jinja has a test of that name.
bool is_test(std::string_view name);

/// The parts of the filter table, one per source file.
struct NamedNative {
  std::string_view name;
  Native native;
};
std::span<const NamedNative> text_filters();
std::span<const NamedNative> number_filters();
std::span<const NamedNative> sequence_filters();
std::span<const NamedNative> selecting_filters();
/// Methods of str; `self` is the text.
std::span<const NamedNative> text_methods();
std::span<const NamedNative> text_search_methods();

}  // namespace modelutils::jinja

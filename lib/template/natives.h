// The tables of what templates call by name, one for each kind; a null entry is known to Jinja and not supported here.
#pragma once

#include <string_view>

#include "template/calls.h"

namespace modelutils::jinja {

/// nullptr: Jinja knows no such filter.
const Native* find_filter(std::string_view name);
inline bool is_filter(std::string_view name) {
  return find_filter(name) != nullptr;
}
/// Does Jinja know a test of that name?
bool is_test(std::string_view name);

/// The parts of the table of filters, one for each file with some of them.
struct NamedNative {
  std::string_view name;
  Native native;
};
std::span<const NamedNative> text_filters();
std::span<const NamedNative> number_filters();
std::span<const NamedNative> sequence_filters();
std::span<const NamedNative> selecting_filters();
/// The methods of texts; `self` is the text.
std::span<const NamedNative> text_methods();
std::span<const NamedNative> text_search_methods();

}  // namespace modelutils::jinja

#include "report/layer_names.h"

namespace modelutils {

std::optional<LayerName> parse_layer_name(std::string_view name) {
  std::size_t begin = name.find('.');
  while (begin != std::string_view::npos) {
    ++begin;
    const std::size_t end = name.find('.', begin);
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view digits = name.substr(begin, end - begin);
    constexpr std::size_t most_digits = 9;  // always fits in a u32
    if (!digits.empty() && digits.size() <= most_digits && digits.find_first_not_of("0123456789") == digits.npos &&
        begin > 1 && end + 1 < name.size()) {
      u32 layer = 0;
      for (const char c : digits) layer = layer * 10 + static_cast<u32>(c - '0');
      return LayerName{name.substr(0, begin - 1), layer, name.substr(end + 1)};
    }
    begin = end;
  }
  return std::nullopt;
}

std::size_t LayerIndex::find_or_add(std::string_view prefix, u32 layer) {
  return numbers_.try_emplace({std::string(prefix), layer}, numbers_.size()).first->second;
}

}  // namespace modelutils

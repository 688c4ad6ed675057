#include "template/value.h"

#include <algorithm>

namespace modelutils::jinja {

Text::Text(std::string text, bool markup)
    : bytes(std::move(text)),
      length(static_cast<std::size_t>(
          std::count_if(bytes.begin(), bytes.end(), [](char c) { return (static_cast<u8>(c) & 0xc0) != 0x80; }))),
      is_markup(markup) {}

void Dict::put(const std::string& key_text, Value key, Value value) {
  const auto [place, is_new] = places_.emplace(key_text, entries.size());
  if (is_new) {
    entries.emplace_back(key, value);
  } else {
    entries[place->second].second = value;
  }
}

const Value* Dict::find(const std::string& key_text) const {
  const auto place = places_.find(key_text);
  return place == places_.end() ? nullptr : &entries[place->second].second;
}

const Value* Dict::find_text(std::string_view key) const {
  return find("s" + std::string(key));
}

}  // namespace modelutils::jinja

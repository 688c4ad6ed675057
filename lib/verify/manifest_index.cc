#include "verify/manifest_index.h"

#include <algorithm>

namespace modelutils {

namespace {

constexpr std::string_view separators = "/\\";  // foreign manifests may come from Windows
constexpr std::string_view piece_ends = ":/\\";

std::string_view first_piece(std::string_view text) {
  return text.substr(0, text.find_first_of(piece_ends));
}

}  // namespace

ManifestIndex::ManifestIndex(std::span<const ManifestEntry> entries) : entries_(entries) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ManifestEntry& entry = entries[i];
    const u32 number = static_cast<u32>(i);
    if (!entry.unsplit.empty()) {
      add_subject(number, entry.unsplit);
    } else if (entry.file.empty()) {
      unnamed_.push_back(i);
    } else {
      const std::size_t base = entry.file.rfind('/') + 1;
      places_.push_back({keys_.insert(first_piece(std::string_view(entry.file).substr(base))).number, number,
                         static_cast<u32>(base)});
    }
  }
  // Sorted by key; the order of the manifest remains within each.
  first_place_.assign(keys_.size() + 1, 0);
  for (const Place& place : places_) ++first_place_[place.key + 1];
  for (std::size_t key = 1; key < first_place_.size(); ++key) first_place_[key] += first_place_[key - 1];
  std::vector<std::size_t> next = first_place_;
  std::vector<Place> sorted(places_.size());
  for (const Place& place : places_) sorted[next[place.key]++] = place;
  places_ = std::move(sorted);
}

void ManifestIndex::add_subject(u32 entry, std::string_view subject) {
  for (std::size_t at = 0;;) {
    const std::string_view piece = first_piece(subject.substr(at));
    if (!piece.empty()) places_.push_back({keys_.insert(piece).number, entry, static_cast<u32>(at)});
    const std::size_t next = subject.find_first_of(separators, at);
    if (next == subject.npos) return;
    at = next + 1;
  }
}

std::vector<ManifestIndex::Match> ManifestIndex::about(std::string_view name) const {
  std::vector<Match> matches;
  const std::size_t base = name.rfind('/') + 1;
  const std::optional<u32> key = keys_.find(first_piece(name.substr(base)));
  if (!key || name.empty()) return matches;
  for (std::size_t i = first_place_[*key]; i < first_place_[*key + 1]; ++i) {
    const Place& place = places_[i];
    const ManifestEntry& entry = entries_[place.entry];
    if (entry.unsplit.empty()) {
      if (entry.file == name) matches.push_back({place.entry, {}});
      continue;
    }
    if (place.at < base || (!matches.empty() && matches.back().entry == place.entry)) continue;
    const std::string_view subject = entry.unsplit;
    const std::size_t begin = place.at - base;
    if (begin != 0 && separators.find(subject[begin - 1]) == separators.npos) continue;
    if (!subject.substr(begin).starts_with(name)) continue;
    const std::string_view rest = subject.substr(begin + name.size());
    if (rest.empty() || rest.front() == ':') matches.push_back({place.entry, rest});
  }
  return matches;
}

}  // namespace modelutils

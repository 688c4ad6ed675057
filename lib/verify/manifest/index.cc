#include "verify/manifest/index.h"

#include <algorithm>
#include <utility>

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
  // Sorted by key, and within each by the text from the place on.
  first_place_.assign(keys_.size() + 1, 0);
  for (const Place& place : places_) ++first_place_[place.key + 1];
  for (std::size_t key = 1; key < first_place_.size(); ++key) first_place_[key] += first_place_[key - 1];
  std::vector<std::size_t> next = first_place_;
  std::vector<Place> sorted(places_.size());
  for (const Place& place : places_) sorted[next[place.key]++] = place;
  places_ = std::move(sorted);
  for (std::size_t key = 0; key + 1 < first_place_.size(); ++key) {
    std::ranges::sort(places_.begin() + static_cast<std::ptrdiff_t>(first_place_[key]),
                      places_.begin() + static_cast<std::ptrdiff_t>(first_place_[key + 1]), {},
                      [&](const Place& place) { return std::pair(text_from(place), place.entry); });
  }
}

std::string_view ManifestIndex::text_from(const Place& place) const {
  const ManifestEntry& entry = entries_[place.entry];
  return std::string_view(entry.unsplit.empty() ? entry.file : entry.unsplit).substr(place.at);
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
  // What is about the file goes on with nothing or with ':' after its name. Names that begin alike lie between the two.
  const auto begin = places_.begin() + static_cast<std::ptrdiff_t>(first_place_[*key]);
  const auto end = places_.begin() + static_cast<std::ptrdiff_t>(first_place_[*key + 1]);
  const auto from = [&](const Place& place) { return text_from(place); };
  const std::string whole(name.substr(base));
  for (const std::string& wanted : {whole, whole + ':'}) {
    for (auto place = std::ranges::lower_bound(begin, end, wanted, {}, from); place != end; ++place) {
      const std::string_view text = text_from(*place);
      if (wanted.size() == whole.size() ? text != wanted : !text.starts_with(wanted)) break;
      const ManifestEntry& entry = entries_[place->entry];
      if (entry.unsplit.empty()) {
        if (entry.file == name) matches.push_back({place->entry, {}});
        continue;
      }
      if (place->at < base) continue;
      const std::string_view subject = std::string_view(entry.unsplit).substr(place->at - base);
      const bool is_name = place->at == base || separators.find(entry.unsplit[place->at - base - 1]) != separators.npos;
      if (is_name && subject.starts_with(name)) matches.push_back({place->entry, subject.substr(name.size())});
    }
  }
  // In the order of the manifest; of a subject that names the file twice the leftmost place.
  std::ranges::sort(matches, {}, [](const Match& match) { return std::pair(match.entry, ~match.rest.size()); });
  const auto is_same = [](const Match& a, const Match& b) { return a.entry == b.entry; };
  matches.erase(std::unique(matches.begin(), matches.end(), is_same), matches.end());
  return matches;
}

}  // namespace modelutils

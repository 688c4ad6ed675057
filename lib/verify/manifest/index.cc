#include "verify/manifest/index.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/name_index.h"

namespace modelutils {

namespace {

constexpr std::string_view separators = "/\\";  // manifests written by other tools may come from Windows
constexpr std::string_view piece_ends = ":/\\";

std::string_view first_piece(std::string_view text) {
  return text.substr(0, text.find_first_of(piece_ends));
}

std::size_t base_at(std::string_view name) {
  return name.rfind('/') + 1;
}

// Calls `visit` with each key and its offset: the base name of the file, or each piece of a text manifest's subject.
template <typename Visit>
void for_each_key(const ManifestEntry& entry, Visit visit) {
  if (entry.unsplit.empty()) {
    if (!entry.file.empty()) visit(entry.file.substr(base_at(entry.file)), base_at(entry.file));
    return;
  }
  for (std::size_t at = 0;;) {
    const std::string_view piece = first_piece(entry.unsplit.substr(at));
    if (!piece.empty()) visit(piece, at);
    const std::size_t next = entry.unsplit.find_first_of(separators, at);
    if (next == std::string_view::npos) return;
    at = next + 1;
  }
}

}  // namespace

// Counts the places first, so that the vector is allocated once at its final size.
ManifestIndex::ManifestIndex(const ManifestEntries& entries) : entries_(entries) {
  std::size_t places = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    for_each_key(entries[i], [&](std::string_view, std::size_t) { ++places; });
  }
  places_.reserve(places);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const ManifestEntry entry = entries[i];
    if (entry.name().empty()) unnamed_.push_back(i);
    for_each_key(entry, [&](std::string_view key, std::size_t at) {
      places_.push_back({NameIndex::hash(key), static_cast<u32>(i), static_cast<u32>(at)});
    });
  }
  // Most keys differ, so the texts are rarely compared.
  std::ranges::sort(places_, [&](const Place& a, const Place& b) {
    if (a.key != b.key) return a.key < b.key;
    const ManifestEntry left = entries_[a.entry];
    const ManifestEntry right = entries_[b.entry];
    return std::tuple(left.name().substr(a.at), !left.unsplit.empty(), left.name(), a.entry) <
           std::tuple(right.name().substr(b.at), !right.unsplit.empty(), right.name(), b.entry);
  });
}

std::string_view ManifestIndex::text_from(const Place& place) const {
  return entries_[place.entry].name().substr(place.at);
}

std::span<const ManifestIndex::Place> ManifestIndex::places_of(std::string_view key) const {
  const u32 hash = NameIndex::hash(key);
  const auto first = std::ranges::lower_bound(places_, hash, {}, &Place::key);
  const auto last = std::ranges::upper_bound(first, places_.end(), hash, {}, &Place::key);
  return {first, last};
}

std::span<const ManifestIndex::Place> ManifestIndex::files_with_base(std::string_view base) const {
  const std::span<const Place> places = places_of(base);
  const auto order = [&](const Place& place) {
    return std::pair(text_from(place), !entries_[place.entry].unsplit.empty());
  };
  const auto first = std::ranges::lower_bound(places, std::pair(base, false), {}, order);
  const auto last = std::ranges::upper_bound(first, places.end(), std::pair(base, false), {}, order);
  return {first, last};
}

// The names are sorted, so all are equal if the first equals the last.
std::optional<std::string_view> ManifestIndex::only_name_with_base(std::string_view base) const {
  const std::span<const Place> files = files_with_base(base);
  if (files.empty()) return std::nullopt;
  const std::string_view name = entries_[files.front().entry].file;
  if (entries_[files.back().entry].file != name) return std::nullopt;
  return name;
}

std::vector<ManifestIndex::Match> ManifestIndex::about(std::string_view name) const {
  std::vector<Match> matches;
  if (name.empty()) return matches;
  const auto name_of = [&](const Place& place) { return entries_[place.entry].name(); };
  const std::span<const Place> files = files_with_base(name.substr(base_at(name)));
  for (auto place = std::ranges::lower_bound(files, name, {}, name_of); place != files.end(); ++place) {
    if (name_of(*place) != name) break;
    matches.push_back({place->entry, {}});
  }
  // In text manifests the name is found by its first piece. A subject about this file continues with nothing or with
  // ':'. Longer names with the same beginning sort between the two, so search for each separately.
  const std::size_t slashes = std::min(name.find_first_not_of('/'), name.size());
  const std::string rest(name.substr(slashes));
  const std::span<const Place> pieces = places_of(first_piece(rest));
  const auto from = [&](const Place& place) { return text_from(place); };
  for (const std::string& wanted : {rest, rest + ':'}) {
    for (auto place = std::ranges::lower_bound(pieces, wanted, {}, from); place != pieces.end(); ++place) {
      const std::string_view text = text_from(*place);
      if (wanted.size() == rest.size() ? text != wanted : !text.starts_with(wanted)) break;
      const ManifestEntry entry = entries_[place->entry];
      if (entry.unsplit.empty() || place->at < slashes) continue;
      const std::size_t begins = place->at - slashes;
      const bool is_name = begins == 0 || separators.find(entry.unsplit[begins - 1]) != separators.npos;
      if (is_name && entry.unsplit.substr(begins).starts_with(name)) {
        matches.push_back({place->entry, text.substr(rest.size())});
      }
    }
  }
  // Sorts by manifest order. If a subject names the file twice, the leftmost match comes first.
  std::ranges::sort(matches, {}, [](const Match& match) { return std::pair(match.entry, ~match.rest.size()); });
  const auto is_same = [](const Match& a, const Match& b) { return a.entry == b.entry; };
  matches.erase(std::unique(matches.begin(), matches.end(), is_same), matches.end());
  return matches;
}

}  // namespace modelutils

#include "verify/manifest/entries.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "base/name_index.h"

namespace modelutils {

namespace {

using Subject = ManifestEntry::Subject;

constexpr unsigned block_bits = 18;
constexpr std::size_t block_bytes = std::size_t{1} << block_bits;

// The record in front of the digest. Only a few entries have the optional members.
struct Head {
  u8 subject : 2;
  u8 algorithm : 3;
  u8 is_git_blob : 1;
  u8 has_bytes : 1;
  u8 has_more : 1;
};
static_assert(sizeof(Head) == 1);

// Numbers are stored with seven bits per byte.
std::size_t size_of_number(u64 value) {
  std::size_t size = 1;
  while (value >>= 7) ++size;
  return size;
}

class Packer {
 public:
  explicit Packer(char* at) : at_(at) {}
  void raw(std::string_view text) {
    if (!text.empty()) std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  void number(u64 value) {
    for (; value >= 0x80; value >>= 7) *at_++ = static_cast<char>(value | 0x80);
    *at_++ = static_cast<char>(value);
  }
  void text(std::string_view text) {
    number(text.size());
    raw(text);
  }

 private:
  char* at_;
};

class Unpacker {
 public:
  explicit Unpacker(const char* at) : at_(at) {}
  std::string_view raw(std::size_t size) {
    const std::string_view text(at_, size);
    at_ += size;
    return text;
  }
  u64 number() {
    u64 value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const u8 byte = static_cast<u8>(*at_++);
      value |= u64{byte & 0x7Fu} << shift;
      if (byte < 0x80) return value;
    }
  }
  std::string_view text() {
    const u64 size = number();
    return raw(static_cast<std::size_t>(size));
  }

 private:
  const char* at_;
};

}  // namespace

std::size_t digest_bytes(HashAlgorithm algorithm) {
  switch (algorithm) {
    case HashAlgorithm::sha256: return 32;
    case HashAlgorithm::xxh3: return 16;
    case HashAlgorithm::sha1: return 20;
    case HashAlgorithm::xxh64: return 8;
    case HashAlgorithm::blake2b: return 64;
  }
  return 0;
}

std::string ManifestEntry::hex() const {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : digest) {
    text += digits[static_cast<u8>(byte) >> 4];
    text += digits[static_cast<u8>(byte) & 15];
  }
  return text;
}

// Returns contiguous room. Block numbers follow from a fixed block size, so an oversized block takes several numbers.
char* ManifestEntries::room_for(std::size_t bytes) {
  if (bytes > free_) {
    const std::size_t blocks = (bytes + block_bytes - 1) >> block_bits;
    free_at_ = blocks_.size() << block_bits;
    free_ = blocks << block_bits;
    blocks_.push_back(std::make_unique_for_overwrite<char[]>(free_));
    blocks_.resize(blocks_.size() + blocks - 1);
  }
  starts_.push_back(static_cast<u32>(free_at_));
  std::size_t block = free_at_ >> block_bits;
  std::size_t within = free_at_ & (block_bytes - 1);
  for (; !blocks_[block]; --block) within += block_bytes;
  free_at_ += bytes;
  free_ -= bytes;
  return blocks_[block].get() + within;
}

void ManifestEntries::push_back(const ManifestEntry& entry) {
  const bool has_more = entry.offset || !entry.dtype.empty() || !entry.unsplit.empty();
  const auto text = [](std::string_view value) { return size_of_number(value.size()) + value.size(); };
  std::size_t size = sizeof(Head) + entry.digest.size() + text(entry.file) + text(entry.tensor);
  if (entry.bytes) size += size_of_number(*entry.bytes);
  if (has_more) size += 1 + size_of_number(entry.offset.value_or(0)) + text(entry.dtype) + text(entry.unsplit);

  Packer out(room_for(size));
  const Head head = {static_cast<u8>(static_cast<u8>(entry.subject) & 3),
                     static_cast<u8>(static_cast<u8>(entry.algorithm) & 7), entry.is_git_blob, entry.bytes.has_value(),
                     has_more};
  char encoded = 0;
  std::memcpy(&encoded, &head, sizeof head);
  out.raw({&encoded, 1});
  out.raw(entry.digest);
  out.text(entry.file);
  out.text(entry.tensor);
  if (entry.bytes) out.number(*entry.bytes);
  if (!has_more) return;
  out.number(entry.offset ? 1 : 0);
  out.number(entry.offset.value_or(0));
  out.text(entry.dtype);
  out.text(entry.unsplit);
}

ManifestEntry ManifestEntries::operator[](std::size_t number) const {
  std::size_t block = starts_[number] >> block_bits;
  std::size_t within = starts_[number] & (block_bytes - 1);
  for (; !blocks_[block]; --block) within += block_bytes;
  Unpacker in(blocks_[block].get() + within);
  Head head{};
  std::memcpy(&head, in.raw(sizeof head).data(), sizeof head);

  ManifestEntry entry;
  entry.subject = static_cast<Subject>(head.subject);
  entry.algorithm = static_cast<HashAlgorithm>(head.algorithm);
  entry.is_git_blob = head.is_git_blob;
  entry.digest = in.raw(digest_bytes(entry.algorithm));
  entry.file = in.text();
  entry.tensor = in.text();
  if (head.has_bytes) entry.bytes = in.number();
  if (!head.has_more) return entry;
  const bool has_offset = in.number() == 1;
  const u64 offset = in.number();
  if (has_offset) entry.offset = offset;
  entry.dtype = in.text();
  entry.unsplit = in.text();
  return entry;
}

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

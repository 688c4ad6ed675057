#include "verify/manifest/entries.h"

#include <cstring>

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

}  // namespace modelutils

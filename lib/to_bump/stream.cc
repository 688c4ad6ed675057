#include "to_bump/stream.h"

#include <algorithm>
#include <cstring>

#include "base/log.h"
#include "bump/v5_header.h"
#include "io/buffer_ring.h"
#include "io/hash.h"
#include "io/write_back.h"

namespace modelutils {

namespace {

constexpr std::size_t ring_slots = 4;
constexpr std::size_t slot_bytes = std::size_t{1} << 18;  // all slots together stay in the second-level cache

template <typename T>
void append_bytes(std::vector<std::byte>& bytes, const T& what) {
  const auto view = std::as_bytes(std::span(what));
  bytes.insert(bytes.end(), view.begin(), view.end());
}

template <typename Entries>
void add_entries(BumpFileImage& image, const Entries& entries) {
  for (const auto& entry : entries) {
    image.recipes.emplace_back(entry.parts);
    image.extents.emplace_back(entry.entry.offset, entry.entry.size);
  }
}

// The number of codes and the codes.
void append_table(std::vector<std::byte>& bytes, std::span<const u8> codes) {
  const u32 count[] = {static_cast<u32>(codes.size())};
  append_bytes(bytes, count);
  append_bytes(bytes, codes);
}

// Hashes every entry on its own, from buffers that know nothing of entries.
class EntryHasher {
 public:
  explicit EntryHasher(const std::vector<std::pair<u64, u64>>& extents)
      : extents_(extents), hasher_(HashAlgorithm::sha256) {
    digests_.reserve(extents.size());
  }

  void update(const BufferRing::Slot& slot) {
    u64 position = slot.offset;
    const u64 end = slot.offset + slot.size;
    while (digests_.size() < extents_.size()) {
      const auto [begin, size] = extents_[digests_.size()];
      position = std::max(position, begin);
      if (position > end) return;
      const u64 take = std::min(end, begin + size) - position;
      hasher_.update(Bytes(slot.data + (position - slot.offset), static_cast<std::size_t>(take)));
      position += take;
      if (position < begin + size) return;
      digests_.push_back(hasher_.hex_digest());
      hasher_.reset();
    }
  }

  std::vector<std::string> take() { return std::move(digests_); }

 private:
  const std::vector<std::pair<u64, u64>>& extents_;
  Hasher hasher_;
  std::vector<std::string> digests_;
};

// One run over the whole file: filled on this thread, hashed on another, written here where there is an output.
class Pass {
 public:
  Pass(const gguf::SplitSet& set, const BumpFileImage& image, bool hash_entries)
      : image_(image),
        file_size_(image.payload_end + image.tail.size()),
        stream_(set, image.recipes),
        payload_(HashAlgorithm::sha256),
        entries_(image.extents),
        hash_entries_(hash_entries) {}

  /// `output` may be nullptr.
  Result<BumpStreamResult> run(AtomicOutput* output, Progress& progress) {
    if (output != nullptr) write_back_.emplace(*output);
    BufferRing ring(ring_slots, slot_bytes);
    ring.add_consumer([this](const BufferRing::Slot& slot) {
      const u64 begin = std::max(slot.offset, image_.checksum_begin);
      const u64 end = std::min(slot.offset + slot.size, image_.payload_end);
      if (begin < end) payload_.update(slot.bytes().subspan(begin - slot.offset, end - begin));
    });
    if (hash_entries_) ring.add_consumer([this](const BufferRing::Slot& slot) { entries_.update(slot); });
    for (u64 offset = 0; offset < file_size_; offset += slot_bytes) {
      BufferRing::Slot& slot = ring.acquire();
      MU_ASSIGN(const bool is_zero, fill(slot, offset));
      ring.publish();
      if (output != nullptr) MU_TRY(write(*output, slot, is_zero));
      progress.advance(slot.size);
    }
    ring.finish();
    BumpStreamResult result;
    const std::string digest = payload_.digest();
    std::memcpy(result.sha256.data(), digest.data(), result.sha256.size());
    if (hash_entries_) result.entry_sha256 = entries_.take();
    return result;
  }

 private:
  /// True if the slot is zeros by construction.
  Result<bool> fill(BufferRing::Slot& slot, u64 offset) {
    slot.offset = offset;
    slot.size = static_cast<std::size_t>(std::min<u64>(slot_bytes, file_size_ - offset));
    MutableBytes rest = slot.bytes();
    if (offset < image_.front.size()) {
      const std::size_t size = std::min<std::size_t>(rest.size(), image_.front.size() - offset);
      std::memcpy(rest.data(), image_.front.data() + offset, size);
      rest = rest.subspan(size);
    }
    MU_ASSIGN(const BumpEntryStream::Filled filled, stream_.fill(rest));
    rest = rest.subspan(filled.bytes);
    const u64 reached = slot.offset + slot.size - rest.size();
    if (!rest.empty() && reached < image_.payload_end) {
      return internal_error("the entries are shorter than the planned file");
    }
    if (!rest.empty()) std::memcpy(rest.data(), image_.tail.data() + (reached - image_.payload_end), rest.size());
    return filled.all_zero && filled.bytes == slot.size;
  }

  Status write(AtomicOutput& output, const BufferRing::Slot& slot, bool is_zero) {
    if (!output.is_seekable()) return output.append(slot.bytes());
    if (is_zero && slot.size == slot_bytes) return {};  // a hole
    MU_TRY(output.write_at(slot.offset, slot.bytes()));
    return write_back_->reached(slot.offset + slot.size);
  }

  const BumpFileImage& image_;
  u64 file_size_;
  BumpEntryStream stream_;
  Hasher payload_;
  EntryHasher entries_;
  bool hash_entries_;
  std::optional<WriteBack> write_back_;
};

}  // namespace

BumpFileImage image_of(const BumpMapping& mapping, bump::Numbering numbering) {
  BumpFileImage image;
  append_bytes(image.front, bump::encode(bump::header_of(mapping.hyper.dimensions)));
  std::vector<u8> codes;
  codes.reserve(mapping.entries.size());
  for (const BumpEntry& entry : mapping.entries) {
    codes.push_back(bump::code_of(entry.entry.dtype, numbering).value_or(0));
  }
  append_table(image.front, codes);
  image.checksum_offset = bump::checksum_offset;
  image.checksum_begin = bump::table_offset;
  image.header_bytes = bump::header_bytes;
  add_entries(image, mapping.entries);
  image.payload_end = mapping.file_size;
  return image;
}

BumpFileImage image_of(const Bump5Mapping& mapping, std::string metadata) {
  BumpFileImage image;
  append_bytes(image.front, bump::v5::encode(mapping.header));
  std::vector<bump::v5::Entry> entries;
  entries.reserve(mapping.entries.size());
  for (const Bump5Entry& entry : mapping.entries) entries.push_back(entry.entry);
  append_table(image.front, bump::v5::table_of(entries));
  image.checksum_offset = bump::v5::checksum_offset;
  image.checksum_begin = bump::v5::table_offset;
  image.header_bytes = bump::v5::header_bytes;
  add_entries(image, mapping.entries);
  image.payload_end = mapping.file_size;
  const u64 size = metadata.size();
  Hasher hasher(HashAlgorithm::sha256);
  hasher.update(std::as_bytes(std::span(metadata)));
  image.tail = std::move(metadata);
  image.tail += bump::v5::footer_magic;
  image.tail.append(reinterpret_cast<const char*>(&size), sizeof size);
  image.tail += hasher.digest();
  return image;
}

Result<BumpStreamResult> stream_bump(const gguf::SplitSet& set, BumpFileImage image, bool hash_entries,
                                     AtomicOutput& output, Progress& progress) {
  const LogStep step("writing the tensors");
  const u64 file_size = image.payload_end + image.tail.size();
  AtomicOutput* direct = output.is_seekable() ? &output : nullptr;
  progress.restart(direct != nullptr ? "writing" : "hashing", file_size);
  MU_ASSIGN(BumpStreamResult result, Pass(set, image, hash_entries).run(direct, progress));
  std::memcpy(image.front.data() + image.checksum_offset, result.sha256.data(), result.sha256.size());
  if (direct != nullptr) {
    MU_TRY(output.set_size(file_size));
    MU_TRY(output.write_at(0, Bytes(image.front).first(image.header_bytes)));
    return result;
  }
  progress.restart("writing", file_size);
  MU_ASSIGN(const BumpStreamResult again, Pass(set, image, false).run(&output, progress));
  if (again.sha256 != result.sha256) {
    return input_error("gguf2bump-changed",
                       "changed while it was being read, so the output does not match its checksum", {}, {},
                       set.files.front().path);
  }
  return result;
}

}  // namespace modelutils

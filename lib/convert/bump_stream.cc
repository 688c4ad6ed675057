#include "convert/bump_stream.h"

#include <algorithm>
#include <cstring>

#include "io/buffer_ring.h"
#include "io/hash.h"
#include "io/write_back.h"
#include "plan/bump_entry_stream.h"

namespace modelutils {

namespace {

constexpr std::size_t ring_slots = 4;
constexpr std::size_t slot_bytes = std::size_t{1} << 18;  // all slots together stay in the second-level cache

// Header (checksum still to come) and dtype table.
std::vector<std::byte> front_matter(const BumpMapping& mapping, bump::Numbering numbering) {
  const auto header = bump::encode(bump::header_of(mapping.hyper.dimensions));
  std::vector<std::byte> bytes(header.begin(), header.end());
  const u32 count = static_cast<u32>(mapping.entries.size());
  bytes.resize(bump::codes_offset + count);
  std::memcpy(bytes.data() + bump::table_offset, &count, sizeof count);
  for (std::size_t i = 0; i < count; ++i) {
    bytes[bump::codes_offset + i] = std::byte{bump::code_of(mapping.entries[i].entry.dtype, numbering).value_or(0)};
  }
  return bytes;
}

// Hashes every entry on its own, from buffers that know nothing of entries.
class EntryHasher {
 public:
  explicit EntryHasher(const std::vector<BumpEntry>& entries) : entries_(entries), hasher_(HashAlgorithm::sha256) {
    digests_.reserve(entries.size());
  }

  void update(const BufferRing::Slot& slot) {
    u64 position = slot.offset;
    const u64 end = slot.offset + slot.size;
    while (digests_.size() < entries_.size()) {
      const bump::Entry& entry = entries_[digests_.size()].entry;
      position = std::max(position, entry.offset);
      if (position > end) return;
      const u64 take = std::min(end, entry.offset + entry.size) - position;
      hasher_.update(Bytes(slot.data + (position - slot.offset), static_cast<std::size_t>(take)));
      position += take;
      if (position < entry.offset + entry.size) return;
      digests_.push_back(hasher_.hex_digest());
      hasher_.reset();
    }
  }

  std::vector<std::string> take() { return std::move(digests_); }

 private:
  const std::vector<BumpEntry>& entries_;
  Hasher hasher_;
  std::vector<std::string> digests_;
};

// One run over the whole file: filled on this thread, hashed on another, written here where there is an output.
class Pass {
 public:
  Pass(const gguf::SplitSet& set, const BumpMapping& mapping, const std::vector<std::byte>& front, bool hash_entries)
      : front_(front),
        file_size_(mapping.file_size),
        stream_(set, mapping.entries),
        payload_(HashAlgorithm::sha256),
        entries_(mapping.entries),
        hash_entries_(hash_entries) {}

  /// `output` may be nullptr.
  Result<BumpStreamResult> run(AtomicOutput* output, Progress& progress) {
    if (output != nullptr) write_back_.emplace(*output);
    BufferRing ring(ring_slots, slot_bytes);
    ring.add_consumer([this](const BufferRing::Slot& slot) {
      const std::size_t skip = slot.offset == 0 ? bump::table_offset : 0;  // the checksum's range begins there
      payload_.update(slot.bytes().subspan(skip));
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
    if (offset < front_.size()) {
      const std::size_t size = std::min<std::size_t>(rest.size(), front_.size() - static_cast<std::size_t>(offset));
      std::memcpy(rest.data(), front_.data() + offset, size);
      rest = rest.subspan(size);
    }
    MU_ASSIGN(const BumpEntryStream::Filled filled, stream_.fill(rest));
    if (filled.bytes != rest.size()) return internal_error("the entries are shorter than the planned file");
    return filled.all_zero && rest.size() == slot.size;
  }

  Status write(AtomicOutput& output, const BufferRing::Slot& slot, bool is_zero) {
    if (!output.is_seekable()) return output.append(slot.bytes());
    if (is_zero && slot.size == slot_bytes) return {};  // a hole
    MU_TRY(output.write_at(slot.offset, slot.bytes()));
    return write_back_->reached(slot.offset + slot.size);
  }

  const std::vector<std::byte>& front_;
  u64 file_size_;
  BumpEntryStream stream_;
  Hasher payload_;
  EntryHasher entries_;
  bool hash_entries_;
  std::optional<WriteBack> write_back_;
};

}  // namespace

Result<BumpStreamResult> stream_bump(const gguf::SplitSet& set, const BumpMapping& mapping, bump::Numbering numbering,
                                     bool hash_entries, AtomicOutput& output, Progress& progress) {
  std::vector<std::byte> front = front_matter(mapping, numbering);
  AtomicOutput* direct = output.is_seekable() ? &output : nullptr;
  progress.restart(direct != nullptr ? "writing" : "hashing", mapping.file_size);
  MU_ASSIGN(BumpStreamResult result, Pass(set, mapping, front, hash_entries).run(direct, progress));
  std::memcpy(front.data() + bump::checksum_offset, result.sha256.data(), result.sha256.size());
  if (direct != nullptr) {
    MU_TRY(output.set_size(mapping.file_size));
    MU_TRY(output.write_at(0, Bytes(front).first(bump::header_bytes)));
    return result;
  }
  progress.restart("writing", mapping.file_size);
  MU_ASSIGN(const BumpStreamResult again, Pass(set, mapping, front, false).run(&output, progress));
  if (again.sha256 != result.sha256) {
    return input_error("gguf2bump-changed",
                       "changed while it was being read, so the output does not match its checksum", {}, {},
                       set.files.front().path);
  }
  return result;
}

}  // namespace modelutils

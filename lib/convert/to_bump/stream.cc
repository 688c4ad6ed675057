#include "convert/to_bump/stream.h"

#include <algorithm>
#include <cstring>

#include "base/parallel.h"
#include "convert/transfer/encoders.h"
#include "convert/transfer/stream.h"
#include "formats/bump/header.h"
#include "io/hash.h"
#include "tensor/value_sums.h"

namespace modelutils {

namespace {

constexpr u64 entry_window_bytes = 256 * 1024;
constexpr std::size_t direct_bytes = 32 * 1024;  // runs of at least this size are read directly into the caller's
                                                 // buffer

// Returns the size of one run in the output.
u64 run_in_output(const BumpPart& part) {
  switch (part.kind) {
    case BumpPart::Kind::zeros: return 0;
    case BumpPart::Kind::copy: return part.run;
    case BumpPart::Kind::literal: return part.literal->size();
    case BumpPart::Kind::convert: break;
  }
  const BlockConversion sizes = conversion_of(part.type, part.to);
  return part.run / sizes.from_bytes * sizes.to_bytes;
}

// Returns the size of one run with the zeros that follow it; the second function, the size of the whole part.
u64 period_of(const BumpPart& part) {
  return run_in_output(part) + part.zeros;
}
u64 bytes_of(const BumpPart& part) {
  return part.repeat * period_of(part);
}

}  // namespace

u64 bytes_of(std::span<const BumpPart> parts) {
  u64 bytes = 0;
  for (const BumpPart& part : parts) bytes += bytes_of(part);
  return bytes;
}

Status BumpEntryReader::read(std::span<const BumpPart> parts, u64 position, MutableBytes out) {
  for (const BumpPart& part : parts) {
    if (out.empty()) return {};
    const u64 bytes = bytes_of(part);
    if (position >= bytes) {
      position -= bytes;
      continue;
    }
    const auto here = static_cast<std::size_t>(std::min<u64>(out.size(), bytes - position));
    MU_TRY(read_part(part, position, out.first(here)));
    out = out.subspan(here);
    position = 0;
  }
  return out.empty() ? Status() : internal_error("an entry is shorter than planned");
}

Status BumpEntryReader::read_part(const BumpPart& part, u64 position, MutableBytes out) {
  const u64 run = run_in_output(part);
  const u64 period = period_of(part);
  while (!out.empty()) {
    const u64 inside = position % period;
    std::size_t done = 0;
    if (inside < run) {
      const auto rest = static_cast<std::size_t>(std::min<u64>(out.size(), run - inside));
      MU_ASSIGN(done, from_source(part, position / period * run + inside, out.first(rest), out.size()));
    } else {
      done = static_cast<std::size_t>(std::min<u64>(out.size(), period - inside));
      std::memset(out.data(), 0, done);
    }
    position += done;
    out = out.subspan(done);
  }
  return {};
}

Result<std::size_t> BumpEntryReader::from_source(const BumpPart& part, u64 position, MutableBytes out, u64 wanted) {
  if (part.kind == BumpPart::Kind::literal) {
    std::memcpy(out.data(), part.literal->data() + position, out.size());
    return out.size();
  }
  if (part.kind == BumpPart::Kind::copy && out.size() >= direct_bytes) {
    MU_TRY(read_runs(part, position, out));
    return out.size();
  }
  if (window_of_ != &part || position < window_begin_ || position >= window_begin_ + window_.size()) {
    MU_TRY(load_window(part, position, wanted));
  }
  const std::size_t at = static_cast<std::size_t>(position - window_begin_);
  const std::size_t size = std::min(out.size(), window_.size() - at);
  std::memcpy(out.data(), window_.data() + at, size);
  return size;
}

Status BumpEntryReader::load_window(const BumpPart& part, u64 position, u64 wanted) {
  const bool converts = part.kind == BumpPart::Kind::convert;
  window_of_ = nullptr;
  const BlockConversion sizes = converts ? conversion_of(part.type, part.to) : BlockConversion{1, 1};
  const u64 first = position / sizes.to_bytes;
  const u64 left = part.repeat * run_in_output(part) / sizes.to_bytes - first;
  const u64 needed = (position + wanted - 1) / sizes.to_bytes - first + 1;
  const u64 count = std::min({entry_window_bytes / sizes.to_bytes, needed, left});
  window_begin_ = first * sizes.to_bytes;
  window_.resize(static_cast<std::size_t>(count * sizes.to_bytes));
  if (converts) {
    source_.resize(static_cast<std::size_t>(count * sizes.from_bytes));
    MU_TRY(read_runs(part, first * sizes.from_bytes, source_));
    convert_blocks(part.type, part.to, source_, window_);
  } else {
    MU_TRY(read_runs(part, window_begin_, window_));
  }
  window_of_ = &part;
  return {};
}

// Reads source bytes starting at `position`, counted as if the runs were contiguous.
Status BumpEntryReader::read_runs(const BumpPart& part, u64 position, MutableBytes out) const {
  const ByteSource& source = *set_.files[part.file].source;
  if (part.stride == 0) return source.read_exact(part.offset + position, out);
  while (!out.empty()) {
    const u64 inside = position % part.run;
    const MutableBytes piece = out.first(static_cast<std::size_t>(std::min<u64>(out.size(), part.run - inside)));
    MU_TRY(source.read_exact(part.offset + position / part.run * part.stride + inside, piece));
    position += piece.size();
    out = out.subspan(piece.size());
  }
  return {};
}

namespace {

constexpr u64 chunk_bytes = u64{1} << 18;  // stays in the L2 cache until it is hashed

template <typename T>
void append_bytes(std::vector<std::byte>& bytes, const T& what) {
  const auto view = std::as_bytes(std::span(what));
  bytes.insert(bytes.end(), view.begin(), view.end());
}

template <typename Entries>
void add_entries(BumpFileImage& image, const Entries& entries) {
  for (const auto& entry : entries) image.entries.push_back({entry.entry.offset, entry.entry.size, entry.parts});
}

// Appends the number of codes and the codes.
void append_table(std::vector<std::byte>& bytes, std::span<const u8> codes) {
  const u32 count[] = {static_cast<u32>(codes.size())};
  append_bytes(bytes, count);
  append_bytes(bytes, codes);
}

// Computes a hash per entry.
class EntryHasher {
 public:
  // Call it for the entries in order; empty entries may be skipped.
  void update(std::size_t entry, Bytes bytes) {
    finish_up_to(entry);
    hasher_.update(bytes);
  }
  std::vector<std::string> finish(std::size_t entries) {
    finish_up_to(entries);
    return std::move(digests_);
  }

 private:
  void finish_up_to(std::size_t entry) {
    while (digests_.size() < entry) {
      digests_.push_back(hasher_.hex_digest());
      hasher_.reset();
    }
  }

  Hasher hasher_{HashAlgorithm::sha256};
  std::vector<std::string> digests_;
};

std::vector<StreamTensor> tensors_of(const BumpFileImage& image) {
  std::vector<StreamTensor> tensors;
  tensors.reserve(image.entries.size());
  for (const BumpFileImage::Entry& entry : image.entries) {
    StreamTensor tensor;
    tensor.rows = entry.size;  // rows of one byte
    tensor.chunk_rows = chunk_bytes;
    tensor.parts[0] = {entry.offset, 1};
    tensor.is_zero =
        std::ranges::all_of(entry.parts, [](const BumpPart& part) { return part.kind == BumpPart::Kind::zeros; });
    tensors.push_back(tensor);
  }
  return tensors;
}

// The hash covers only the entries, so they must fill the whole range between table and payload end.
Status check_entries(const BumpFileImage& image) {
  u64 end = image.front.size();
  for (const BumpFileImage::Entry& entry : image.entries) {
    if (entry.offset != end || entry.size != bytes_of(entry.parts)) {
      return internal_error("an entry is not where it was planned");
    }
    end += entry.size;
  }
  return end == image.payload_end ? Status() : internal_error("the entries are shorter than the planned file");
}

// One pass over the whole file, which is also written if `output` is not null.
Result<BumpStreamResult> run(const gguf::SplitSet& set, const BumpFileImage& image, bool hash_entries,
                             AtomicOutput* output, Progress& progress) {
  MU_TRY(check_entries(image));
  const std::vector<StreamTensor> tensors = tensors_of(image);
  const StreamFile file{
      output, {reinterpret_cast<const char*>(image.front.data()), image.front.size()}, image.payload_end};
  const unsigned threads = default_threads();
  std::vector<BumpEntryReader> readers(threads, BumpEntryReader(set));
  Hasher payload(HashAlgorithm::sha256);
  payload.update(Bytes(image.front).subspan(static_cast<std::size_t>(image.checksum_begin)));
  EntryHasher entries;
  std::vector<WatchRows> watchers = {[&](std::size_t, Bytes bytes) { payload.update(bytes); }};
  if (hash_entries) watchers.emplace_back([&](std::size_t i, Bytes bytes) { entries.update(i, bytes); });
  const EncodeRows encode = [&](std::size_t i, u64 first, u64, const EncodedParts& out, unsigned thread, ValueSums*) {
    return readers[thread].read(image.entries[i].parts, first, out[0]);
  };
  MU_TRY(stream_tensors({&file, 1}, tensors, threads, encode, progress, watchers));
  if (output != nullptr && !image.tail.empty()) {
    const Bytes tail = std::as_bytes(std::span(image.tail));
    MU_TRY(output->is_seekable() ? output->write_at(image.payload_end, tail) : output->append(tail));
  }
  progress.advance(image.tail.size());
  BumpStreamResult result;
  const std::string digest = payload.digest();
  std::memcpy(result.sha256.data(), digest.data(), result.sha256.size());
  if (hash_entries) result.entry_sha256 = entries.finish(tensors.size());
  return result;
}

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
  append_bytes(image.front, bump5::encode(mapping.header));
  std::vector<bump5::Entry> entries;
  entries.reserve(mapping.entries.size());
  for (const Bump5Entry& entry : mapping.entries) entries.push_back(entry.entry);
  append_table(image.front, bump5::table_of(entries));
  image.checksum_offset = bump5::checksum_offset;
  image.checksum_begin = bump5::table_offset;
  image.header_bytes = bump5::header_bytes;
  add_entries(image, mapping.entries);
  image.payload_end = mapping.file_size;
  const u64 size = metadata.size();
  Hasher hasher(HashAlgorithm::sha256);
  hasher.update(std::as_bytes(std::span(metadata)));
  image.tail = std::move(metadata);
  image.tail += bump5::footer_magic;
  image.tail.append(reinterpret_cast<const char*>(&size), sizeof size);
  image.tail += hasher.digest();
  return image;
}

Result<BumpStreamResult> stream_bump(const gguf::SplitSet& set, BumpFileImage image, bool hash_entries,
                                     AtomicOutput& output, Progress& progress) {
  const u64 file_size = image.payload_end + image.tail.size();
  AtomicOutput* direct = output.is_seekable() ? &output : nullptr;
  progress.restart(direct != nullptr ? "writing" : "hashing", file_size);
  MU_ASSIGN(BumpStreamResult result, run(set, image, hash_entries, direct, progress));
  std::memcpy(image.front.data() + image.checksum_offset, result.sha256.data(), result.sha256.size());
  if (direct != nullptr) {
    MU_TRY(output.write_at(0, Bytes(image.front).first(image.header_bytes)));
    return result;
  }
  progress.restart("writing", file_size);
  MU_ASSIGN(const BumpStreamResult again, run(set, image, false, &output, progress));
  if (again.sha256 != result.sha256) {
    return input_error("gguf2bump-changed",
                       "changed while it was being read, so the output does not match its checksum", {}, {},
                       set.files.front().path);
  }
  return result;
}

}  // namespace modelutils

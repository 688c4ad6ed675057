#include "pytorch/check_records.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/parallel.h"
#include "pytorch/crc32.h"
#include "pytorch/zip.h"

namespace modelutils::pytorch {

void ReadChecksums::add(u64 offset, Bytes bytes) {
  if (bytes.empty()) return;
  const u64 end = offset + bytes.size();
  const u32 crc = crc32_of(0, bytes);
  const std::lock_guard lock(mutex_);
  const auto next = ranges_.lower_bound(offset);
  if (next != ranges_.end() && next->first < end) return;
  auto range = ranges_.end();
  if (next != ranges_.begin()) {
    const auto before = std::prev(next);
    if (before->second.end > offset) return;
    if (before->second.end == offset) {
      before->second = {end, crc32_joined(before->second.crc32, crc, bytes.size())};
      range = before;
    }
  }
  if (range == ranges_.end()) range = ranges_.emplace_hint(next, offset, Range{end, crc});
  if (next == ranges_.end() || next->first != end) return;
  const u64 next_bytes = next->second.end - end;
  range->second = {next->second.end, crc32_joined(range->second.crc32, next->second.crc32, next_bytes)};
  ranges_.erase(next);
}

namespace {

constexpr u64 piece_bytes = u64{1} << 20;

// Unread bytes of a stored record. Pieces are numbered across all gaps; `first_piece` is the gap's first.
struct Gap {
  u64 offset;
  u64 bytes;
  u64 first_piece;
};

class Gaps {
 public:
  Gaps(const std::vector<ZipRecord>& records, const ReadChecksums& read) {
    for (const ZipRecord& record : records) {
      if (!record.is_deflated) add(record.data_offset, record.data_offset + record.stored_bytes, read.ranges());
    }
  }

  Status read(const ByteSource& source, ReadChecksums& into, unsigned threads) const {
    std::vector<std::vector<std::byte>> buffers(threads);
    return parallel_for(pieces_, threads, [&](u64 item, unsigned thread) -> Status {
      const Gap& gap = *std::prev(std::ranges::upper_bound(gaps_, item, {}, &Gap::first_piece));
      const u64 at = (item - gap.first_piece) * piece_bytes;
      const u64 bytes = std::min(piece_bytes, gap.bytes - at);
      if (buffers[thread].size() < bytes) buffers[thread].resize(bytes);
      const MutableBytes out = MutableBytes(buffers[thread]).first(bytes);
      MU_TRY(source.read_exact(gap.offset + at, out));
      into.add(gap.offset + at, out);
      return {};
    });
  }

 private:
  void add(u64 at, u64 end, const std::map<u64, ReadChecksums::Range>& known) {
    for (auto range = known.lower_bound(at); range != known.end() && range->first < end; ++range) {
      add_gap(at, range->first);
      at = range->second.end;
    }
    add_gap(at, end);
  }

  void add_gap(u64 at, u64 end) {
    if (at >= end) return;
    gaps_.push_back({at, end - at, pieces_});
    pieces_ += (end - at - 1) / piece_bytes + 1;
  }

  std::vector<Gap> gaps_;
  u64 pieces_ = 0;
};

Status check_record(const ByteSource& source, const ZipRecord& record, const ReadChecksums& read) {
  const auto range = read.ranges().find(record.data_offset);
  const bool is_known = !record.is_deflated && range != read.ranges().end() &&
                        range->second.end == record.data_offset + record.stored_bytes;
  if (!is_known) return check_crc(source, record);  // deflated, empty, or it shares bytes with another record
  if (range->second.crc32 == record.crc32) return {};
  return tl::make_unexpected(wrong_crc(record, range->second.crc32));
}

}  // namespace

Result<FindingLog> check_records(const ByteSource& source, const Document& document, ReadChecksums& read,
                                 unsigned threads) {
  MU_TRY(Gaps(document.records, read).read(source, read, threads));
  std::mutex mutex;
  std::map<u64, Error> wrong;
  MU_TRY(parallel_for(document.records.size(), threads, [&](u64 item, unsigned) -> Status {
    const ZipRecord& record = document.records[item];
    if (inflates_too_far(record)) return {};  // an error of parse() already, if anything uses the record
    Status checked = check_record(source, record, read);
    if (checked || checked.error().code.starts_with("io-")) return checked;
    const std::lock_guard lock(mutex);
    wrong.emplace(item, std::move(checked.error()));
    return {};
  }));
  FindingLog findings;
  for (auto& [item, error] : wrong) {
    error.scope = Scope::data;
    findings.add(std::move(error));
  }
  return findings;
}

}  // namespace modelutils::pytorch

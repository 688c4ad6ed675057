// Finds the end record of a ZIP archive and reads its records. Random access to a deflated one saves the
// decompressor's state every few megabytes (32 KiB each), so that reading in any order stays linear in the record's
// size.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "base/byte_reader.h"
#include "base/log.h"
#include "formats/pytorch/zip.h"

namespace modelutils::pytorch {

// Finds the end record of a ZIP archive, and thereby the central directory. Internal.

struct ZipDirectory {
  u64 offset = 0;
  u64 bytes = 0;
  u64 count = 0;  ///< number of records; they fit into `bytes`
};

/// Minimum size of a record's header in the central directory.
inline constexpr u64 central_header_bytes = 46;

/// Finds the central directory of an archive of `size` bytes. Returns nullopt, after a finding "pt-zip-end", if the end
/// record is missing, ambiguous or not at the end of the file, or if the end record, the zip64 end record and the
/// directory's location disagree. Fails only if reading fails.
Result<std::optional<ZipDirectory>> find_zip_directory(const ByteSource& source, u64 size, FindingLog& findings);

// Random access to a deflated record. It saves the decompressor's state every few megabytes (32 KiB each), so that
// reading in any order stays linear in the record's size.

class InflatedSource : public ByteSource {
 public:
  /// `source` must outlive this object.
  InflatedSource(const ByteSource& source, const ZipRecord& record);
  ~InflatedSource() override;

  /// Fails like `source`, or with "pt-zip-deflate" if the compressed data is invalid or too short.
  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override;
  std::optional<u64> size() const override { return record_.bytes; }
  const std::string& name() const override { return source_.name(); }

  /// After reading everything: checks that the compressed data ends here, too. Fails with "pt-zip-deflate".
  Status check_end() const;

 private:
  struct State;
  Error broken(std::string_view what) const;
  Status step(int flush) const;
  Status advance(MutableBytes out) const;
  Status restart(u64 offset) const;

  const ByteSource& source_;
  ZipRecord record_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<State> state_;
};

}  // namespace modelutils::pytorch

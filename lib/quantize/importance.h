// Importance matrices: for each matrix of a model the squares of what was multiplied with its columns, summed over a
// calibration text. Both formats of llama-imatrix: GGUF and the older .dat. Source: docs/formats/quantize.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "base/name_index.h"

namespace modelutils::quantize {

/// What is known of one tensor. Sums stay in the file until asked for.
struct ImportanceEntry {
  std::string name;         ///< of the model's tensor
  u64 values = 0;           ///< columns × matrices
  u64 sums_offset = 0;      ///< absolute offset of the sums, float32
  std::vector<i64> counts;  ///< how often each matrix was used: one for all, or one for each expert
};

class ImportanceMatrix {
 public:
  /// Opens and checks a file of either format; what is not GGUF is taken for a .dat file. Errors: those of opening;
  /// "imatrix-…" (docs/findings.md).
  static Result<std::shared_ptr<const ImportanceMatrix>> open(const std::string& path);

  const std::string& path() const { return path_; }
  bool is_legacy() const { return is_legacy_; }  ///< a .dat file
  const std::vector<std::string>& datasets() const { return datasets_; }
  u64 chunks() const { return chunks_; }          ///< 0: the file does not say
  u64 chunk_size() const { return chunk_size_; }  ///< tokens; 0: the file does not say
  const std::vector<ImportanceEntry>& entries() const { return entries_; }
  /// nullptr if the matrix does not cover this tensor.
  const ImportanceEntry* find(std::string_view name) const;

  /// The sums as they stand.
  Result<std::vector<float>> sums(const ImportanceEntry& entry) const;
  /// The weights as a quantiser uses them: sums divided by the count of their matrix, 1 for a matrix that was never
  /// used. Errors: reading; "imatrix-not-finite".
  Result<std::vector<float>> weights(const ImportanceEntry& entry) const;

 private:
  Status read_gguf();
  Status read_legacy();
  Status add(ImportanceEntry entry);

  std::string path_;
  std::shared_ptr<ByteSource> source_;
  bool is_legacy_ = false;
  std::vector<std::string> datasets_;
  u64 chunks_ = 0;
  u64 chunk_size_ = 0;
  std::vector<ImportanceEntry> entries_;
  NameIndex names_;
};

}  // namespace modelutils::quantize

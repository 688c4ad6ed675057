// Importance matrices: for each matrix of a model, the squared inputs of its columns, summed over a calibration text.
// Reads both formats of llama-imatrix: GGUF and the older .dat. Source: docs/formats/quantize.md.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/name_index.h"
#include "formats/gguf/document.h"

namespace modelutils::quantize {

/// True if a file's first bytes look like the older format: the tensor count, then for each tensor the length of its
/// name (both i32, little-endian), the name and numbers.
bool is_legacy_importance(std::string_view head);
/// True if a GGUF file declares itself an importance matrix (general.type).
bool is_importance(const gguf::Document& document);

/// The data of one tensor. The sums stay in the file until requested.
struct ImportanceEntry {
  std::string name;         ///< name of the model's tensor
  u64 values = 0;           ///< columns × matrices
  u64 sums_offset = 0;      ///< absolute offset of the sums, float32
  std::vector<i64> counts;  ///< use count of each matrix: one for all, or one per expert
  u64 record_offset = 0;    ///< absolute offset of the description: the tensor info of the sums, or the record of a
                            ///< .dat
  std::optional<u64> plain_sums_offset = {};  ///< offset of the sums of the plain values, which some files also have

  u64 columns() const { return values / counts.size(); }  ///< columns per matrix, if `counts` has one count per matrix
  u64 never_used() const;                                 ///< number of matrices whose count is not positive
};

class ImportanceMatrix {
 public:
  /// Opens and checks a file of either format; a file that is not GGUF is read as .dat. Errors: those of opening;
  /// "imatrix-…" (docs/findings.md).
  static Result<std::shared_ptr<const ImportanceMatrix>> open(const std::string& path);
  /// Like open(), for an open file.
  static Result<std::shared_ptr<const ImportanceMatrix>> read(std::shared_ptr<ByteSource> source, std::string path);
  /// Like open(), for a GGUF file whose header has been read.
  static Result<std::shared_ptr<const ImportanceMatrix>> read(std::shared_ptr<ByteSource> source, std::string path,
                                                              const gguf::Document& document);

  const std::string& path() const { return path_; }
  const std::shared_ptr<ByteSource>& source() const { return source_; }
  bool is_legacy() const { return is_legacy_; }  ///< a .dat file
  const std::vector<std::string>& datasets() const { return datasets_; }
  u64 chunks() const { return chunks_; }          ///< 0 if the file does not state it
  u64 chunk_size() const { return chunk_size_; }  ///< in tokens; 0 if the file does not state it
  const std::vector<ImportanceEntry>& entries() const { return entries_; }
  /// nullptr if the matrix does not cover this tensor.
  const ImportanceEntry* find(std::string_view name) const;

  /// Returns the sums of squares as stored. Errors: read errors; "imatrix-negative".
  Result<std::vector<float>> sums(const ImportanceEntry& entry) const;
  /// Returns the sums of the plain values; the entry must have them.
  Result<std::vector<float>> plain_sums(const ImportanceEntry& entry) const;
  /// Returns the weights for a quantiser: the sums divided by their matrix's count, or 1 for a matrix that was never
  /// used. Errors: those of sums(); "imatrix-not-finite".
  Result<std::vector<float>> weights(const ImportanceEntry& entry) const;

 private:
  Status read_gguf(const gguf::Document& document);
  Status read_entries(const gguf::Document& document);
  Status read_legacy();
  Status add(ImportanceEntry entry);
  Status index_names();

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

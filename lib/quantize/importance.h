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
#include "gguf/document.h"

namespace modelutils::quantize {

/// Do the first bytes of a file look like the older format: the number of tensors, then of each the length of its name
/// (both i32, little-endian), the name and numbers?
bool is_legacy_importance(std::string_view head);
/// Does a GGUF file say that it is an importance matrix (general.type)?
bool is_importance(const gguf::Document& document);

/// What is known of one tensor. Sums stay in the file until asked for.
struct ImportanceEntry {
  std::string name;         ///< of the model's tensor
  u64 values = 0;           ///< columns × matrices
  u64 sums_offset = 0;      ///< absolute offset of the sums, float32
  std::vector<i64> counts;  ///< how often each matrix was used: one for all, or one for each expert
  u64 record_offset = 0;    ///< absolute offset of what describes it: the info of the sums, or the record of a .dat
  std::optional<u64> plain_sums_offset = {};  ///< the same of sums of the values themselves, which some files have, too

  u64 columns() const { return values / counts.size(); }  ///< of one matrix, if each has its count
  u64 never_used() const;                                 ///< matrices whose count is not positive
};

class ImportanceMatrix {
 public:
  /// Opens and checks a file of either format; what is not GGUF is taken for a .dat file. Errors: those of opening;
  /// "imatrix-…" (docs/findings.md).
  static Result<std::shared_ptr<const ImportanceMatrix>> open(const std::string& path);
  /// The same of a file that is open.
  static Result<std::shared_ptr<const ImportanceMatrix>> read(std::shared_ptr<ByteSource> source, std::string path);
  /// The same of a GGUF file whose header was read.
  static Result<std::shared_ptr<const ImportanceMatrix>> read(std::shared_ptr<ByteSource> source, std::string path,
                                                              const gguf::Document& document);

  const std::string& path() const { return path_; }
  const std::shared_ptr<ByteSource>& source() const { return source_; }
  bool is_legacy() const { return is_legacy_; }  ///< a .dat file
  const std::vector<std::string>& datasets() const { return datasets_; }
  u64 chunks() const { return chunks_; }          ///< 0: the file does not say
  u64 chunk_size() const { return chunk_size_; }  ///< tokens; 0: the file does not say
  const std::vector<ImportanceEntry>& entries() const { return entries_; }
  /// nullptr if the matrix does not cover this tensor.
  const ImportanceEntry* find(std::string_view name) const;

  /// The sums of squares as they stand. Errors: reading; "imatrix-negative".
  Result<std::vector<float>> sums(const ImportanceEntry& entry) const;
  /// Those of the values themselves; the entry must have them.
  Result<std::vector<float>> plain_sums(const ImportanceEntry& entry) const;
  /// The weights as a quantiser uses them: sums divided by the count of their matrix, 1 for a matrix that was never
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

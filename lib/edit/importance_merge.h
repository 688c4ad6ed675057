// gguf-edit of importance matrices: from either format into either, and several into one, as llama-imatrix makes one of
// its --in-file: sums are added, and so are counts. Source: docs/formats/quantize.md.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/finding.h"
#include "io/progress.h"
#include "quantize/importance.h"

namespace modelutils::edit {

struct ImportanceRequest {
  std::vector<std::string> inputs;  ///< one or more, each of either format
  std::string output;               ///< "-" streams to standard output
  bool legacy = false;              ///< write the format before GGUF
  bool force = false;
};

/// A tensor of the output, and the entries that it is added up from.
struct MergedEntry {
  struct Part {
    const quantize::ImportanceMatrix* matrix = nullptr;
    const quantize::ImportanceEntry* entry = nullptr;
    float scale = 1;  ///< of its sums: the tokens of a call, where the file counts calls
  };
  std::string name;
  u64 values = 0;
  std::vector<i64> counts;      ///< tokens of each matrix, or of all
  std::vector<Part> parts;      ///< in the order of the inputs
  bool has_plain_sums = false;  ///< every part has them
};

struct ImportanceMerge {
  std::vector<std::shared_ptr<const quantize::ImportanceMatrix>> matrices;
  std::vector<MergedEntry> entries;  ///< by name
  std::vector<std::string> datasets;
  u64 chunks = 0;
  u64 chunk_size = 0;
  u64 file_size = 0;  ///< of the output
  Findings remarks;
};

/// Of the squares of what was multiplied with a column, or of that itself.
enum class SumsKind : u8 { squares, values };

/// The sums of an entry's parts, added in the order of the inputs in float32, as llama-imatrix adds them. Errors:
/// reading; "imatrix-not-finite".
Result<std::vector<float>> merged_sums(const MergedEntry& entry, SumsKind kind);

/// Takes out what the older format cannot say: entries that were never used. Error: nothing is left.
Status drop_unused(ImportanceMerge& merge);

/// Bytes of the file. Errors: those of gguf::layout(); "imatrix-merge" for numbers that the older format cannot hold.
Result<u64> gguf_size(const ImportanceMerge& merge);
Result<u64> legacy_size(const ImportanceMerge& merge);

/// True if `path` is an importance matrix, and with `legacy` one in the format before GGUF. False if it cannot be
/// opened.
bool is_importance_file(const std::string& path, bool legacy);

/// Reads the headers and adds up the counts. A file of the older format counts calls of 512 tokens, llama-imatrix's
/// default, if no GGUF among the inputs has another chunk size; one count for several matrices is that of each. Errors:
/// those of ImportanceMatrix; "imatrix-merge" (sizes differ, sums that the format cannot say).
Result<ImportanceMerge> plan_importance_merge(const ImportanceRequest& request);

/// What write_importance_merge() would say of the output, without writing it. Errors: those of AtomicOutput::check()
/// and check_free_space().
Status check_importance_output(const ImportanceRequest& request, const ImportanceMerge& merge);

/// Errors: reading; "imatrix-not-finite"; those of AtomicOutput and check_free_space().
Status write_importance_merge(const ImportanceRequest& request, const ImportanceMerge& merge, Progress& progress);

}  // namespace modelutils::edit

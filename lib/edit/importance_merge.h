// gguf-edit for importance matrices: converts between the two formats, and merges several files into one as
// llama-imatrix does with --in-file, by adding sums and counts. Source: docs/formats/quantize.md.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "formats/imatrix/importance.h"
#include "io/standard_output.h"

namespace modelutils::edit {

struct ImportanceRequest {
  std::vector<std::string> inputs;  ///< one or more, in either format
  std::string output;               ///< "-" streams to standard output
  bool legacy = false;              ///< write the older format
  bool force = false;
};

/// A tensor of the output and the input entries that are added up for it.
struct MergedEntry {
  struct Part {
    const quantize::ImportanceMatrix* matrix = nullptr;
    const quantize::ImportanceEntry* entry = nullptr;
    float scale = 1;  ///< factor for its sums: tokens per call if the file counts calls
  };
  std::string name;
  u64 values = 0;
  std::vector<i64> counts;      ///< tokens per matrix, or one number for all
  std::vector<Part> parts;      ///< in input order
  bool has_plain_sums = false;  ///< all parts have plain sums
};

struct ImportanceMerge {
  std::vector<std::shared_ptr<const quantize::ImportanceMatrix>> matrices;
  std::vector<MergedEntry> entries;  ///< ordered by name
  std::vector<std::string> datasets;
  u64 chunks = 0;
  u64 chunk_size = 0;
  u64 file_size = 0;  ///< size of the output
  Findings remarks;
};

/// The kind of sums: of the squared activations per column, or of the activations themselves.
enum class SumsKind : u8 { squares, values };

/// Returns the sums over an entry's parts, added in input order in float32, as llama-imatrix does. Errors: those of
/// reading; "imatrix-not-finite".
Result<std::vector<float>> merged_sums(const MergedEntry& entry, SumsKind kind);

/// Removes entries that were never used, which the older format cannot express. Fails if nothing remains.
Status drop_unused(ImportanceMerge& merge);

/// Returns the size of the file. Errors: those of gguf::layout(); "imatrix-merge" for numbers that the older format
/// cannot hold.
Result<u64> gguf_size(const ImportanceMerge& merge);
Result<u64> legacy_size(const ImportanceMerge& merge);

/// True if `path` is an importance matrix, and with `legacy` one in the older format. False if it cannot be opened.
bool is_importance_file(const std::string& path, bool legacy);

/// Reads the headers and adds up the counts. A file in the older format counts calls, taken as 512 tokens each
/// (llama-imatrix's default) unless a GGUF among the inputs has another chunk size. One count for several matrices
/// applies to each. Errors: those of ImportanceMatrix; "imatrix-merge" (sizes differ, or sums exceed the format).
Result<ImportanceMerge> plan_importance_merge(const ImportanceRequest& request);

/// Reports what write_importance_merge() would report about the output, without writing it. Errors: those of
/// AtomicOutput::check() and check_free_space().
Status check_importance_output(const ImportanceRequest& request, const ImportanceMerge& merge);

/// Writes the output. Errors: those of reading; "imatrix-not-finite"; those of AtomicOutput and check_free_space().
Status write_importance_merge(const ImportanceRequest& request, const ImportanceMerge& merge, Progress& progress);

}  // namespace modelutils::edit

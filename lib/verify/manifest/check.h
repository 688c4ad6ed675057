// Hashes many byte ranges of a model's files in parallel.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/hash.h"
#include "io/standard_output.h"
#include "model/catalog.h"

namespace modelutils {

/// A byte range in one of the catalog's files.
struct HashRange {
  std::size_t file = 0;
  u64 offset = 0;
  u64 bytes = 0;
};

/// One hash over the concatenation of its ranges.
struct HashJob {
  HashAlgorithm algorithm = HashAlgorithm::sha256;
  std::vector<HashRange> ranges;
  std::string prefix = {};  ///< hashed before the ranges
};

/// Bytes that a thread reads and hashes at a time.
inline constexpr std::size_t hash_buffer_bytes = 256 * 1024;

/// Returns the prefix that Git hashes before the content of a file of that size.
std::string git_blob_prefix(u64 size);

/// Returns the hexadecimal digest of every job, in the order given, or the read error. Jobs run on `threads` threads,
/// the largest first; each job is serial. Needs one buffer of hash_buffer_bytes per thread.
std::vector<Result<std::string>> run_hashes(const Catalog& catalog, std::span<const HashJob> jobs, unsigned threads,
                                            Progress* progress = nullptr);

}  // namespace modelutils

// Hashing many pieces of a model's files at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "io/hash.h"
#include "io/progress.h"
#include "model/tensor_catalog.h"

namespace modelutils {

/// A stretch of one of the catalog's files.
struct HashRange {
  std::size_t file = 0;
  u64 offset = 0;
  u64 bytes = 0;
};

/// One hash over ranges, one after another.
struct HashJob {
  HashAlgorithm algorithm = HashAlgorithm::sha256;
  std::vector<HashRange> ranges;
  std::string prefix = {};  ///< hashed before them
};

/// What Git hashes before the content of a file of that size.
std::string git_blob_prefix(u64 size);

/// The hexadecimal digest of every job, in the order given, or why it could not be read. Jobs run on `threads` threads,
/// the largest first; each is one serial chain. One buffer of 256 KiB a thread.
std::vector<Result<std::string>> run_hashes(const Catalog& catalog, std::span<const HashJob> jobs, unsigned threads,
                                            Progress* progress = nullptr);

}  // namespace modelutils

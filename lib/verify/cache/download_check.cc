#include "verify/cache/download_check.h"

#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>

#include "base/counted.h"
#include "base/numbers.h"
#include "base/parallel.h"
#include "base/path.h"
#include "io/random_access_file.h"
#include "model/download_record.h"
#include "verify/manifest/hash_run.h"

namespace modelutils {

namespace {

constexpr std::size_t buffer_size = 256 * 1024;

Result<std::string> digest_of(const RandomAccessFile& file, HashAlgorithm algorithm, Progress* progress) {
  Hasher hasher(algorithm);
  const u64 size = file.file_size();
  if (algorithm == HashAlgorithm::sha1) {
    const std::string header = git_blob_prefix(size);
    hasher.update(std::as_bytes(std::span(header)));
  }
  std::vector<std::byte> buffer(buffer_size);
  for (u64 done = 0; done < size;) {
    const MutableBytes bytes(buffer.data(), static_cast<std::size_t>(std::min<u64>(buffer.size(), size - done)));
    MU_TRY(file.read_exact(done, bytes));
    hasher.update(bytes);
    done += bytes.size();
    if (progress != nullptr) progress->advance(bytes.size());
  }
  return hasher.hex_digest();
}

std::string of_revision(const DownloadRecord& record) {
  return record.revision.empty() ? std::string() : " of revision " + record.revision;
}

std::string algorithm_text(HashAlgorithm algorithm) {
  return algorithm == HashAlgorithm::sha1 ? "SHA-1 as a Git blob" : "SHA-256";
}

}  // namespace

Result<std::string> DigestMemo::digest(const std::string& path, HashAlgorithm algorithm, Progress* progress) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  struct stat status {};
  if (::fstat(file->descriptor(), &status) != 0) return digest_of(*file, algorithm, progress);
  const Key key{status.st_dev, status.st_ino, algorithm};
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return known->second;
  }
  MU_ASSIGN(std::string digest, digest_of(*file, algorithm, progress));
  const std::lock_guard lock(mutex_);
  return known_.emplace(key, std::move(digest)).first->second;
}

std::set<std::string> check_downloads(const std::vector<DownloadedFile>& files, const DownloadCheck& options,
                                      DigestMemo& memo, ThreadBudget& threads, FindingLog& log, Progress* progress) {
  std::set<std::string> missing;
  struct Comparison {
    const DownloadedFile* file;
    DownloadRecord record;
    Result<std::string> digest = {};
  };
  std::vector<Comparison> comparisons;
  DownloadRecords records;
  for (const DownloadedFile& file : files) {
    DownloadRecord record = records.find(file.path);
    if (record.is_missing) {
      missing.insert(file.name);
      struct stat status {};
      const std::string unfinished = record.blob + ".incomplete";
      const bool has_begun = !record.blob.empty() && ::stat(unfinished.c_str(), &status) == 0;
      log.add(
          {.scope = Scope::container,
           .code = "cache-blob-missing",
           .message = fmt::format("incomplete: the link{} leads to {}, which is not there{}; download the model "
                                  "again",
                                  of_revision(record),
                                  record.blob.empty() ? std::string("a file") : "the blob " + base_name_of(record.blob),
                                  has_begun ? fmt::format("; there is an unfinished download of {}",
                                                          byte_text(static_cast<u64>(status.st_size)))
                                            : ""),
           .file = file.name,
           .leads = true});
      continue;
    }
    if (record.is_outside && !options.follow_links &&
        file.name.empty()) {  // models with several files report it by their own rules
      log.warning(Scope::container, "cache-link-outside",
                  "is a symbolic link that leads out of the download cache; check where it points");
    }
    struct stat status {};
    const bool has_size = ::stat(file.path.c_str(), &status) == 0;
    const u64 size = static_cast<u64>(status.st_size);
    if (has_size && record.bytes && size != *record.bytes) {
      if (options.is_broken) continue;  // the file's own rules have reported what is missing
      log.error(Scope::container, "cache-blob-size",
                size < *record.bytes ? incomplete_text(size, *record.bytes)
                                     : fmt::format("has {} bytes, but the cache says {}{}", thousands(size),
                                                   thousands(*record.bytes), of_revision(record)),
                {}, {}, file.name);
      continue;
    }
    if (!options.authentic || !has_size) continue;
    if (record.expected) {
      comparisons.push_back({&file, std::move(record)});
    } else if (file.has_weights && !record.is_outside) {
      log.warning(Scope::data, "cache-no-record",
                  "cannot be checked with --authentic: no download cache says what its content should be", {}, {},
                  file.name);
    }
  }
  const ThreadBudget::Share share(threads);
  const Status done = parallel_for(comparisons.size(), share.threads(), [&](u64 item, unsigned) -> Status {
    Comparison& comparison = comparisons[static_cast<std::size_t>(item)];
    comparison.digest = memo.digest(comparison.file->path, comparison.record.expected->algorithm, progress);
    return {};
  });
  (void)done;  // each comparison keeps its own result
  for (const Comparison& comparison : comparisons) {
    const ExpectedContent& expected = *comparison.record.expected;
    if (!comparison.digest) {
      log.add(without_path(comparison.digest.error(), Scope::data, comparison.file->name));
    } else if (*comparison.digest != expected.hex) {
      log.error(
          Scope::data, "cache-not-authentic",
          fmt::format("is not what was published{}: its {} is {}, but should be {}; delete it and download it "
                      "again",
                      comparison.record.revision.empty() ? std::string() : " as revision " + comparison.record.revision,
                      algorithm_text(expected.algorithm), *comparison.digest, expected.hex),
          {}, {}, comparison.file->name);
    }
  }
  return missing;
}

}  // namespace modelutils

#include "verify/manifest/hash_run.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "base/parallel.h"

namespace modelutils {

namespace {

constexpr std::size_t buffer_size = 256 * 1024;

u64 job_bytes(const HashJob& job) {
  u64 bytes = 0;
  for (const HashRange& range : job.ranges) bytes += range.bytes;
  return bytes;
}

// State that a thread reuses between jobs.
struct Worker {
  std::array<std::optional<Hasher>, hash_algorithms>
      hashers;  // by algorithm; creating a hasher costs more than hashing a small tensor
  std::vector<std::byte> buffer;

  Hasher& fresh(HashAlgorithm algorithm) {
    std::optional<Hasher>& hasher = hashers[static_cast<std::size_t>(algorithm)];
    if (hasher) {
      hasher->reset();
    } else {
      hasher.emplace(algorithm);
    }
    return *hasher;
  }
};

Result<std::string> run_job(const Catalog& catalog, const HashJob& job, Worker& worker, Progress* progress) {
  worker.buffer.resize(buffer_size);
  Hasher& hasher = worker.fresh(job.algorithm);
  hasher.update(std::as_bytes(std::span(job.prefix)));
  for (const HashRange& range : job.ranges) {
    for (u64 done = 0; done < range.bytes;) {
      const std::size_t size = static_cast<std::size_t>(std::min<u64>(buffer_size, range.bytes - done));
      const MutableBytes bytes(worker.buffer.data(), size);
      MU_TRY(catalog.files[range.file].source->read_exact(range.offset + done, bytes));
      hasher.update(bytes);
      done += size;
      if (progress != nullptr) progress->advance(size);
    }
  }
  return hasher.hex_digest();
}

}  // namespace

std::string git_blob_prefix(u64 size) {
  return "blob " + std::to_string(size) + std::string(1, '\0');
}

std::vector<Result<std::string>> run_hashes(const Catalog& catalog, std::span<const HashJob> jobs, unsigned threads,
                                            Progress* progress) {
  std::vector<u64> sizes(jobs.size());
  std::transform(jobs.begin(), jobs.end(), sizes.begin(), job_bytes);
  if (progress != nullptr) progress->restart("hashing", std::accumulate(sizes.begin(), sizes.end(), u64{0}));
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sizes[a] > sizes[b]; });

  std::vector<Result<std::string>> digests(jobs.size());
  std::vector<Worker> workers(threads);
  const Status status = parallel_for(jobs.size(), threads, [&](u64 item, unsigned thread) -> Status {
    const std::size_t job = order[static_cast<std::size_t>(item)];
    digests[job] = run_job(catalog, jobs[job], workers[thread], progress);
    return {};
  });
  (void)status;  // each job keeps its own result
  return digests;
}

}  // namespace modelutils

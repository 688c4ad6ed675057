#include "to_directory/block_facts.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/parallel.h"
#include "mlx/quantize.h"
#include "to_directory/block_scan.h"
#include "to_directory/rows.h"

namespace modelutils {

namespace {

constexpr u64 scan_bytes = u64{512} << 10;

double relative(double error, double values) {
  if (error == 0) return 0;
  return values > 0 ? std::sqrt(error / values) : HUGE_VAL;
}

// A range of a part's rows, or of a tensor's units, that is scanned piece by piece.
struct ScanRange {
  std::size_t tensor;  // index into the list of tensors
  const Tensor* rows;  // scan its rows from `begin` on; nullptr to scan values
  u64 row_elements;    // elements per row
  u64 begin;
  u64 units;
  u64 step;         // units per piece
  u64 first_piece;  // counted over all ranges
};

class TensorScanner {
 public:
  TensorScanner(const Catalog& catalog, std::span<const DirectoryTensor> tensors, std::span<const ScanRequest> requests)
      : catalog_(catalog), tensors_(tensors), requests_(requests), settled_(requests.size()), all_(requests.size()) {}

  void add_rows(std::size_t i, const Tensor& tensor, u64 row_elements, u64 first, u64 rows) {
    const u64 bytes = *row_bytes(*tensor.type, row_elements);
    add({i, &tensor, row_elements, first, rows, std::max<u64>(scan_bytes / bytes, 1), 0});
  }

  void add_tensor(std::size_t i) {
    const DirectoryTensor& tensor = tensors_[i];
    const Scan scan = requests_[i].scan;
    if (scan == Scan::none) return;
    if (scan != Scan::blocks && scan != Scan::blocks_and_errors) {
      const u64 most = std::max<u64>(scan_bytes / 4 / tensor.unit, 1);
      const u64 step = tensor.by_element ? rows_at_once(tensor) * tensor.units_of_row() : most;
      return add({i, nullptr, 0, 0, tensor.units(), step, 0});
    }
    // A part's rows are contiguous in the GGUF, whatever their order in the directory.
    for (const RecipePart& part : tensor.parts) {
      add_rows(i, catalog_.tensors[part.source], tensor.unit, part.from.base, part.units());
    }
  }

  Result<std::vector<BlockFacts>> run(unsigned threads) {
    workers_.resize(std::max(threads, 1u));
    const auto scan_piece = [&](u64 piece, unsigned thread) -> Status {
      const auto next = std::ranges::upper_bound(ranges_, piece, {}, &ScanRange::first_piece);
      const ScanRange& range = *std::prev(next);
      const u64 first = (piece - range.first_piece) * range.step;
      BlockFacts facts;
      MU_TRY(scan(range, first, std::min(range.step, range.units - first), workers_[thread], facts));
      add_in_order(piece, range.tensor, facts);
      return {};
    };
    MU_TRY(parallel_for(pieces_, threads, scan_piece));
    return std::move(all_);
  }

 private:
  struct Worker {
    std::vector<std::byte> rows;
    std::vector<float> values;
    std::unique_ptr<DirectoryReader> reader;
    std::size_t tensor = 0;  // the tensor of `reader`
  };

  void add(ScanRange range) {
    if (range.units == 0) return;
    range.first_piece = pieces_;
    pieces_ += (range.units + range.step - 1) / range.step;
    ranges_.push_back(range);
  }

  Status scan(const ScanRange& range, u64 first, u64 count, Worker& worker, BlockFacts& facts) {
    if (range.rows == nullptr) return scan_tensor_values(range.tensor, first, count, worker, facts);
    const Tensor& tensor = *range.rows;
    const u64 bytes = *row_bytes(*tensor.type, range.row_elements);
    worker.rows.resize(count * bytes);
    MU_TRY(catalog_.read(tensor, (range.begin + first) * bytes, worker.rows));
    const bool with_errors = requests_[range.tensor].scan == Scan::blocks_and_errors;
    scan_blocks(*tensor.type, range.row_elements, worker.rows, with_errors, facts);
    return {};
  }

  Status scan_tensor_values(std::size_t i, u64 first, u64 count, Worker& worker, BlockFacts& facts) {
    if (settled_[i].load()) {
      facts.fits_f16 = facts.fits_bf16 = false;
      return {};
    }
    if (worker.reader == nullptr || worker.tensor != i) {
      worker.reader = std::make_unique<DirectoryReader>(catalog_, tensors_[i]);
      worker.tensor = i;
    }
    MU_TRY(worker.reader->read_values(first, count, worker.values));
    scan_values(worker.values, facts);
    facts.fits_f32 = worker.reader->rounding().squared_error == 0;
    if (requests_[i].scan == Scan::values_until_settled) {
      if (!facts.fits_f16 && !facts.fits_bf16) settled_[i].store(true);
      return {};
    }
    const std::vector<u64>& ne = tensors_[i].ne;
    if (ne.empty() || ne.front() % mlx::search_group != 0) return {};
    for (const float value : worker.values) facts.squared_values += double{value} * double{value};
    if (requests_[i].scan == Scan::values) {
      facts.lattice_error = mlx::plain_lattice_error(worker.values, requests_[i].scales);
    } else {
      measure_forms(worker.values, requests_[i].scales, facts);
    }
    return {};
  }

  // Floating-point sums depend on the order, so adds pieces in order whichever thread finishes first.
  void add_in_order(u64 piece, std::size_t tensor, const BlockFacts& facts) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(piece, std::pair(tensor, facts));
    for (auto next = waiting_.begin(); next != waiting_.end() && next->first == next_; ++next_) {
      all_[next->second.first].add(next->second.second);
      next = waiting_.erase(next);
    }
  }

  const Catalog& catalog_;
  std::span<const DirectoryTensor> tensors_;
  std::span<const ScanRequest> requests_;
  std::vector<ScanRange> ranges_;
  u64 pieces_ = 0;
  std::vector<Worker> workers_;
  std::vector<std::atomic<bool>> settled_;
  std::mutex mutex_;
  std::vector<BlockFacts> all_;
  std::map<u64, std::pair<std::size_t, BlockFacts>> waiting_;
  u64 next_ = 0;
};

}  // namespace

void BlockFacts::add(const BlockFacts& other) {
  finite = finite && other.finite;
  fits_f16 = fits_f16 && other.fits_f16;
  fits_bf16 = fits_bf16 && other.fits_bf16;
  fits_f32 = fits_f32 && other.fits_f32;
  f16_overflows = f16_overflows || other.f16_overflows;
  merged = std::min(merged, other.merged);
  code_bits |= other.code_bits;
  foreign_scales += other.foreign_scales;
  f16_error += other.f16_error;
  bf16_error += other.bf16_error;
  lattice_error += other.lattice_error;
  squared_values += other.squared_values;
}

double BlockFacts::f16_rms() const {
  return relative(f16_error, squared_values);
}

double BlockFacts::bf16_rms() const {
  return relative(bf16_error, squared_values);
}

double BlockFacts::lattice_rms() const {
  return relative(lattice_error, squared_values);
}

Result<std::vector<BlockFacts>> scan_tensors(const Catalog& catalog, std::span<const DirectoryTensor> tensors,
                                             std::span<const ScanRequest> requests, unsigned threads) {
  TensorScanner scanner(catalog, tensors, requests);
  for (std::size_t i = 0; i < requests.size(); ++i) scanner.add_tensor(i);
  return scanner.run(threads);
}

Result<BlockFacts> facts_of_blocks(const Catalog& catalog, const Tensor& tensor, unsigned threads) {
  constexpr ScanRequest blocks[] = {{Scan::blocks}};
  TensorScanner scanner(catalog, {}, blocks);
  scanner.add_rows(0, tensor, tensor.ne.front(), 0, tensor.bytes / *row_bytes(*tensor.type, tensor.ne.front()));
  MU_ASSIGN(const std::vector<BlockFacts> facts, scanner.run(threads));
  return facts.front();
}

}  // namespace modelutils

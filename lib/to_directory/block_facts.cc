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
#include "to_directory/block_looks.h"
#include "to_directory/rows.h"

namespace modelutils {

namespace {

constexpr u64 look_bytes = u64{512} << 10;

double relative(double error, double values) {
  if (error == 0) return 0;
  return values > 0 ? std::sqrt(error / values) : HUGE_VAL;
}

// Rows of a part, or units of a tensor, that are looked at a piece at a time.
struct Stretch {
  std::size_t tensor;         // its place in the list
  const CatalogTensor* rows;  // whose rows from `begin` on; nullptr: values
  u64 row_elements;           // of them
  u64 begin;
  u64 units;
  u64 step;         // units of a piece
  u64 first_piece;  // of all stretches
};

class Looker {
 public:
  Looker(const Catalog& catalog, std::span<const DirectoryTensor> tensors, std::span<const LookAt> looks)
      : catalog_(catalog), tensors_(tensors), looks_(looks), settled_(looks.size()), all_(looks.size()) {}

  void add_rows(std::size_t i, const CatalogTensor& tensor, u64 row_elements, u64 first, u64 rows) {
    const u64 bytes = *row_bytes(*tensor.type, row_elements);
    add({i, &tensor, row_elements, first, rows, std::max<u64>(look_bytes / bytes, 1), 0});
  }

  void add_tensor(std::size_t i) {
    const DirectoryTensor& tensor = tensors_[i];
    const Look look = looks_[i].look;
    if (look == Look::none) return;
    if (look != Look::blocks && look != Look::blocks_and_errors) {
      const u64 most = std::max<u64>(look_bytes / 4 / tensor.unit, 1);
      const u64 step = tensor.by_element ? rows_at_once(tensor) * tensor.units_of_row() : most;
      return add({i, nullptr, 0, 0, tensor.units(), step, 0});
    }
    // The rows of a part lie one after another in the GGUF, whatever their order in the directory.
    for (const DirectoryPart& part : tensor.parts) {
      add_rows(i, catalog_.tensors[part.tensor], tensor.unit, part.first, part.view.rows());
    }
  }

  Result<std::vector<BlockFacts>> run(unsigned threads) {
    workers_.resize(std::max(threads, 1u));
    const auto look_at_piece = [&](u64 piece, unsigned thread) -> Status {
      const auto next = std::ranges::upper_bound(stretches_, piece, {}, &Stretch::first_piece);
      const Stretch& stretch = *std::prev(next);
      const u64 first = (piece - stretch.first_piece) * stretch.step;
      BlockFacts facts;
      MU_TRY(look(stretch, first, std::min(stretch.step, stretch.units - first), workers_[thread], facts));
      add_in_order(piece, stretch.tensor, facts);
      return {};
    };
    MU_TRY(parallel_for(pieces_, threads, look_at_piece));
    return std::move(all_);
  }

 private:
  struct Worker {
    std::vector<std::byte> rows;
    std::vector<float> values;
    std::unique_ptr<DirectoryReader> reader;
    std::size_t tensor = 0;  // of the reader
  };

  void add(Stretch stretch) {
    if (stretch.units == 0) return;
    stretch.first_piece = pieces_;
    pieces_ += (stretch.units + stretch.step - 1) / stretch.step;
    stretches_.push_back(stretch);
  }

  Status look(const Stretch& stretch, u64 first, u64 count, Worker& worker, BlockFacts& facts) {
    if (stretch.rows == nullptr) return look_at_values(stretch.tensor, first, count, worker, facts);
    const CatalogTensor& tensor = *stretch.rows;
    const u64 bytes = *row_bytes(*tensor.type, stretch.row_elements);
    worker.rows.resize(count * bytes);
    MU_TRY(
        catalog_.files[tensor.file].source->read_exact(tensor.offset + (stretch.begin + first) * bytes, worker.rows));
    const bool with_errors = looks_[stretch.tensor].look == Look::blocks_and_errors;
    look_at_blocks(*tensor.type, stretch.row_elements, worker.rows, with_errors, facts);
    return {};
  }

  Status look_at_values(std::size_t i, u64 first, u64 count, Worker& worker, BlockFacts& facts) {
    if (settled_[i].load()) {
      facts.fits_f16 = facts.fits_bf16 = false;
      return {};
    }
    if (worker.reader == nullptr || worker.tensor != i) {
      worker.reader = std::make_unique<DirectoryReader>(catalog_, tensors_[i]);
      worker.tensor = i;
    }
    MU_TRY(worker.reader->read_values(first, count, worker.values));
    look_at(worker.values, facts);
    facts.fits_f32 = worker.reader->rounding().squared_error == 0;
    if (looks_[i].look == Look::values_until_settled) {
      if (!facts.fits_f16 && !facts.fits_bf16) settled_[i].store(true);
      return {};
    }
    const std::vector<u64>& shape = tensors_[i].shape;
    if (shape.empty() || shape.back() % mlx::search_group != 0) return {};
    for (const float value : worker.values) facts.squared_values += double{value} * double{value};
    if (looks_[i].look == Look::values) {
      facts.lattice_error = mlx::plain_lattice_error(worker.values, looks_[i].scales);
    } else {
      measure_forms(worker.values, looks_[i].scales, facts);
    }
    return {};
  }

  // Sums of doubles depend on their order.
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
  std::span<const LookAt> looks_;
  std::vector<Stretch> stretches_;
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

Result<std::vector<BlockFacts>> look_at_tensors(const Catalog& catalog, std::span<const DirectoryTensor> tensors,
                                                std::span<const LookAt> looks, unsigned threads) {
  Looker looker(catalog, tensors, looks);
  for (std::size_t i = 0; i < looks.size(); ++i) looker.add_tensor(i);
  return looker.run(threads);
}

Result<BlockFacts> facts_of_blocks(const Catalog& catalog, const CatalogTensor& tensor, unsigned threads) {
  constexpr LookAt blocks[] = {{Look::blocks}};
  Looker looker(catalog, {}, blocks);
  looker.add_rows(0, tensor, tensor.ne.front(), 0, tensor.bytes / *row_bytes(*tensor.type, tensor.ne.front()));
  MU_ASSIGN(const std::vector<BlockFacts> facts, looker.run(threads));
  return facts.front();
}

}  // namespace modelutils

#include "convert/to_directory/block_facts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/instructions.h"
#include "base/parallel.h"
#include "convert/to_directory/encode.h"
#include "model/mlx/block_form.h"
#include "model/mlx/quantize.h"
#include "tensor/narrow.h"

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

namespace {

constexpr std::size_t batch_groups = 256;

// True if every `count` neighbouring groups share scale and bias bit for bit.
bool shared_by(std::span<const float> scales, std::span<const float> biases, std::size_t count) {
  for (std::size_t g = 0; g + count <= scales.size(); g += count) {
    for (std::size_t k = 1; k < count; ++k) {
      if (std::bit_cast<u32>(scales[g + k]) != std::bit_cast<u32>(scales[g]) ||
          std::bit_cast<u32>(biases[g + k]) != std::bit_cast<u32>(biases[g])) {
        return false;
      }
    }
  }
  return true;
}

// Sums over a group's codes, from which the sum of squared values follows for any scale and bias.
struct CodeSums {
  double count = 0;
  double codes = 0;
  double squares = 0;

  double squared(double scale, double bias) const {
    return std::max(count * bias * bias + 2 * scale * bias * codes + scale * scale * squares, 0.0);
  }
};

// Fills one element of `sums` per group of `size` codes. `size` is a multiple of 32.
void add_up_codes(const u8* codes, u32 size, std::span<CodeSums> sums) {
  run_with(
      best_instructions(), [=](auto) __attribute__((flatten)) {
        const u8* group = codes;
        for (CodeSums& one : sums) {
          u32 sum = 0;
          u32 squares = 0;
          for (const u8* end = group + size; group != end; group += 32) {
            i16 wide[32];  // 16-bit products added in pairs compile to one instruction
            for (u32 i = 0; i < 32; ++i) wide[i] = group[i];
            i32 some = 0;
            i32 some_squares = 0;
            for (u32 i = 0; i < 32; ++i) some_squares += i32{wide[i]} * i32{wide[i]};
            for (u32 i = 0; i < 32; ++i) some += i32{wide[i]};
            sum += static_cast<u32>(some);
            squares += static_cast<u32>(some_squares);
          }
          one = {static_cast<double>(size), static_cast<double>(sum), static_cast<double>(squares)};
        }
      });
}

// The errors from rounding the scales and biases of some groups.
class RoundingErrors {
 public:
  RoundingErrors(std::span<const float> scales, std::span<const float> biases) : scales_(scales), biases_(biases) {
    round(TensorType::F16, f16_scales_, f16_biases_);
    round(TensorType::BF16, bf16_scales_, bf16_biases_);
  }

  void add(std::size_t g, const CodeSums& sums, BlockFacts& facts) const {
    facts.f16_error += sums.squared(difference(f16_scales_[g], scales_[g]), difference(f16_biases_[g], biases_[g]));
    facts.bf16_error += sums.squared(difference(bf16_scales_[g], scales_[g]), difference(bf16_biases_[g], biases_[g]));
    facts.squared_values += sums.squared(static_cast<double>(scales_[g]), static_cast<double>(biases_[g]));
  }

 private:
  using Batch = std::array<float, batch_groups>;

  static double difference(float rounded, float value) {
    return static_cast<double>(rounded) - static_cast<double>(value);
  }

  void round(TensorType type, Batch& scales, Batch& biases) const {
    std::copy(scales_.begin(), scales_.end(), scales.begin());
    std::copy(biases_.begin(), biases_.end(), biases.begin());
    round_to(type, std::span(scales).first(scales_.size()));
    round_to(type, std::span(biases).first(biases_.size()));
  }

  std::span<const float> scales_, biases_;
  Batch f16_scales_, f16_biases_, bf16_scales_, bf16_biases_;
};

void scan_fp_blocks(TensorType type, const mlx::Params& params, Bytes rows, BlockFacts& facts) {
  const TypeInfo& info = type_info(type);
  std::vector<u8> scales(rows.size() / info.block_bytes * (info.block_elements / params.group_size));
  mlx::take_scale_bytes(type, rows, scales);
  facts.foreign_scales += mlx::foreign_scale_bytes(type, scales);
}

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = double{a[i]} - double{b[i]};
    sum += difference * difference;
  }
  return sum;
}

}  // namespace

void scan_values(std::span<const float> values, BlockFacts& facts) {
  const NarrowFacts narrow = narrow_facts(values);
  facts.finite = facts.finite && narrow.finite;
  facts.fits_f16 = facts.fits_f16 && narrow.fits_f16;
  facts.fits_bf16 = facts.fits_bf16 && narrow.fits_bf16;
  facts.f16_overflows = facts.f16_overflows || narrow.f16_overflows;
}

void scan_blocks(TensorType type, u64 columns, Bytes rows, bool with_errors, BlockFacts& facts) {
  const mlx::Params params = *mlx::exact_params(type);
  if (params.mode != mlx::Mode::affine) return scan_fp_blocks(type, params, rows, facts);
  const TypeInfo& info = type_info(type);
  const u32 groups_of_block = info.block_elements / params.group_size;
  const u64 groups_of_row = columns / params.group_size;
  while (facts.merged > 1 && (groups_of_row % facts.merged != 0 || params.group_size * facts.merged > 128)) {
    facts.merged /= 2;
  }
  const bool with_codes = with_errors || type == TensorType::Q4_1;
  std::array<float, batch_groups> scales;
  std::array<float, batch_groups> biases;
  std::array<CodeSums, batch_groups> sums;
  std::vector<u8> codes(with_codes ? batch_groups * params.group_size : 0);
  const std::size_t blocks = rows.size() / info.block_bytes;
  const std::size_t most = batch_groups / groups_of_block;
  for (std::size_t block = 0; block < blocks; block += most) {
    const std::size_t count = std::min(most, blocks - block);
    const std::size_t groups = count * groups_of_block;
    const Bytes bytes = rows.subspan(block * info.block_bytes, count * info.block_bytes);
    const auto some_scales = std::span(scales).first(groups);
    const auto some_biases = std::span(biases).first(groups);
    mlx::take_scales(type, bytes, some_scales, some_biases);
    scan_values(some_scales, facts);
    scan_values(some_biases, facts);
    // Batches start at multiples of four groups. Rows with fewer groups than that are not merged across batches.
    while (facts.merged > 1 && !shared_by(some_scales, some_biases, facts.merged)) facts.merged /= 2;
    if (!with_codes) continue;
    const auto some_codes = std::span(codes).first(groups * params.group_size);
    mlx::take_codes(type, bytes, some_codes);
    if (type == TensorType::Q4_1) {
      for (const u8 code : some_codes) facts.code_bits |= code;
    }
    if (!with_errors) continue;
    const RoundingErrors errors(some_scales, some_biases);
    add_up_codes(some_codes.data(), params.group_size, std::span(sums).first(groups));
    for (std::size_t g = 0; g < groups; ++g) errors.add(g, sums[g], facts);
  }
}

void measure_forms(std::span<const float> values, TensorType scales, BlockFacts& facts) {
  std::vector<float> carried(values.begin(), values.end());
  round_to(TensorType::F16, carried);
  facts.f16_error = squared_distance(carried, values);
  carried.assign(values.begin(), values.end());
  round_to(TensorType::BF16, carried);
  facts.bf16_error = squared_distance(carried, values);
  std::vector<u8> codes(values.size());
  std::vector<mlx::ScaleAndBias> lattices(values.size() / mlx::search_group);
  mlx::search_two_scales(values, scales, lattices, codes);
  for (std::size_t k = 0; k < values.size(); ++k) {
    const mlx::ScaleAndBias& lattice = lattices[k / mlx::search_group];
    carried[k] = static_cast<float>(codes[k]) * lattice.scale + lattice.bias;
  }
  facts.lattice_error = squared_distance(carried, values);
}

}  // namespace modelutils

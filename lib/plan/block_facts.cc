#include "plan/block_facts.h"

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

#include "base/instructions.h"
#include "base/parallel.h"
#include "mlx/block_form.h"
#include "plan/directory_rows.h"
#include "tensor/narrow.h"

namespace modelutils {

namespace {

constexpr u64 look_bytes = u64{512} << 10;
constexpr std::size_t batch_groups = 256;

double relative(double error, double values) {
  if (error == 0) return 0;
  return values > 0 ? std::sqrt(error / values) : HUGE_VAL;
}

void look_at(std::span<const float> values, BlockFacts& facts) {
  const NarrowFacts narrow = narrow_facts(values);
  facts.finite = facts.finite && narrow.finite;
  facts.fits_f16 = facts.fits_f16 && narrow.fits_f16;
  facts.fits_bf16 = facts.fits_bf16 && narrow.fits_bf16;
  facts.f16_overflows = facts.f16_overflows || narrow.f16_overflows;
}

// Do `count` neighbouring groups share scale and bias, bit for bit?
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

// Sums over the codes of a group, from which any scale and bias give the squares.
struct CodeSums {
  double count = 0;
  double codes = 0;
  double squares = 0;

  double squared(double scale, double bias) const {
    return std::max(count * bias * bias + 2 * scale * bias * codes + scale * scale * squares, 0.0);
  }
};

// Of groups of `size` codes, a multiple of 32, one for each of `sums`.
void add_up_codes(const u8* codes, u32 size, std::span<CodeSums> sums) {
  run_with(
      best_instructions(), [=](auto) __attribute__((flatten)) {
        const u8* group = codes;
        for (CodeSums& one : sums) {
          u32 sum = 0;
          u32 squares = 0;
          for (const u8* end = group + size; group != end; group += 32) {
            i16 wide[32];  // products of these, added in pairs, are one instruction
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

// What rounded scales and biases change, of some groups.
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

void look_at_fp_blocks(TensorType type, const mlx::Params& params, Bytes rows, BlockFacts& facts) {
  const TypeInfo& info = type_info(type);
  std::vector<u8> scales(rows.size() / info.block_bytes * (info.block_elements / params.group_size));
  mlx::take_scale_bytes(type, rows, scales);
  facts.foreign_scales += mlx::foreign_scale_bytes(type, scales);
}

// Whole rows of `columns` elements.
void look_at_blocks(TensorType type, u64 columns, Bytes rows, bool with_errors, BlockFacts& facts) {
  const mlx::Params params = *mlx::exact_params(type);
  if (params.mode != mlx::Mode::affine) return look_at_fp_blocks(type, params, rows, facts);
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
    look_at(some_scales, facts);
    look_at(some_biases, facts);
    // Batches begin at multiples of four groups, unless there are fewer in a row: then nothing is merged across them.
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

// Rows of a part, or units of a tensor, that are looked at a piece at a time.
struct Stretch {
  std::size_t tensor;         // its place in the list
  const CatalogTensor* rows;  // whose rows from `begin` on; nullptr: values
  u64 begin;
  u64 units;
  u64 step;         // units of a piece
  u64 first_piece;  // of all stretches
};

class Looker {
 public:
  Looker(const Catalog& catalog, std::span<const DirectoryTensor> tensors, std::span<const Look> looks)
      : catalog_(catalog), tensors_(tensors), looks_(looks), settled_(looks.size()), all_(looks.size()) {}

  void add_rows(std::size_t i, const CatalogTensor& tensor, u64 first, u64 rows) {
    add({i, &tensor, first, rows, std::max<u64>(look_bytes / row_size(tensor), 1), 0});
  }

  void add_tensor(std::size_t i) {
    const DirectoryTensor& tensor = tensors_[i];
    if (looks_[i] == Look::none) return;
    if (looks_[i] == Look::values || looks_[i] == Look::values_until_settled) {
      const u64 most = std::max<u64>(look_bytes / 4 / tensor.unit, 1);
      return add({i, nullptr, 0, tensor.units(), tensor.by_element ? tensor.units() : most, 0});
    }
    // The rows of a part lie one after another in the GGUF, whatever their order in the directory.
    for (const DirectoryPart& part : tensor.parts) {
      add_rows(i, catalog_.tensors[part.tensor], part.first, part.view.rows());
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

  static u64 row_size(const CatalogTensor& tensor) { return *row_bytes(*tensor.type, tensor.ne.front()); }

  void add(Stretch stretch) {
    if (stretch.units == 0) return;
    stretch.first_piece = pieces_;
    pieces_ += (stretch.units + stretch.step - 1) / stretch.step;
    stretches_.push_back(stretch);
  }

  Status look(const Stretch& stretch, u64 first, u64 count, Worker& worker, BlockFacts& facts) {
    if (stretch.rows == nullptr) return look_at_values(stretch.tensor, first, count, worker, facts);
    const CatalogTensor& tensor = *stretch.rows;
    const u64 bytes = row_size(tensor);
    worker.rows.resize(count * bytes);
    MU_TRY(
        catalog_.files[tensor.file].source->read_exact(tensor.offset + (stretch.begin + first) * bytes, worker.rows));
    const bool with_errors = looks_[stretch.tensor] == Look::blocks_and_errors;
    look_at_blocks(*tensor.type, tensor.ne.front(), worker.rows, with_errors, facts);
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
    const bool is_settled = !facts.fits_f16 && !facts.fits_bf16;
    if (is_settled && looks_[i] == Look::values_until_settled) settled_[i].store(true);
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
  std::span<const Look> looks_;
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
  f16_overflows = f16_overflows || other.f16_overflows;
  merged = std::min(merged, other.merged);
  code_bits |= other.code_bits;
  foreign_scales += other.foreign_scales;
  f16_error += other.f16_error;
  bf16_error += other.bf16_error;
  squared_values += other.squared_values;
}

double BlockFacts::f16_rms() const {
  return relative(f16_error, squared_values);
}

double BlockFacts::bf16_rms() const {
  return relative(bf16_error, squared_values);
}

Result<std::vector<BlockFacts>> look_at_tensors(const Catalog& catalog, std::span<const DirectoryTensor> tensors,
                                                std::span<const Look> looks, unsigned threads) {
  Looker looker(catalog, tensors, looks);
  for (std::size_t i = 0; i < looks.size(); ++i) looker.add_tensor(i);
  return looker.run(threads);
}

Result<BlockFacts> facts_of_blocks(const Catalog& catalog, const CatalogTensor& tensor, unsigned threads) {
  constexpr Look blocks[] = {Look::blocks};
  Looker looker(catalog, {}, blocks);
  looker.add_rows(0, tensor, 0, tensor.bytes / *row_bytes(*tensor.type, tensor.ne.front()));
  MU_ASSIGN(const std::vector<BlockFacts> facts, looker.run(threads));
  return facts.front();
}

}  // namespace modelutils

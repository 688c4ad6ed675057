#include "plan/block_facts.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <mutex>

#include "base/parallel.h"
#include "mlx/block_form.h"
#include "plan/directory_rows.h"
#include "tensor/narrow.h"

namespace modelutils {

namespace {

constexpr u64 look_bytes = u64{512} << 10;
constexpr std::size_t batch_groups = 64;

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
CodeSums sums_of(std::span<const u8> codes) {
  u32 sum = 0;
  u32 squares = 0;
  for (const u8 code : codes) {
    sum += code;
    squares += u32{code} * code;
  }
  return {static_cast<double>(codes.size()), static_cast<double>(sum), static_cast<double>(squares)};
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
    for (std::size_t g = 0; g < groups; ++g) {
      errors.add(g, sums_of(some_codes.subspan(g * params.group_size, params.group_size)), facts);
    }
  }
}

void look_at_values(std::span<const float> values, BlockFacts& facts) {
  look_at(values, facts);
}

namespace {

// Calls look(first, count, thread, facts) for pieces of [0, units) by several threads, and joins what they find.
template <typename Look>
Result<BlockFacts> look_everywhere(u64 units, u64 piece, unsigned threads, const Look& look) {
  std::mutex mutex;
  BlockFacts all;
  const u64 pieces = (units + piece - 1) / piece;
  const auto look_at_piece = [&](u64 item, unsigned thread) -> Status {
    BlockFacts facts;
    const u64 first = item * piece;
    MU_TRY(look(first, std::min(piece, units - first), thread, facts));
    const std::lock_guard lock(mutex);
    all.add(facts);
    return {};
  };
  MU_TRY(parallel_for(pieces, threads, look_at_piece));
  return all;
}

}  // namespace

namespace {

// `rows` rows of a tensor from row `first` on.
Result<BlockFacts> facts_of_rows(const Catalog& catalog, const CatalogTensor& tensor, u64 first, u64 rows,
                                 bool with_errors, unsigned threads) {
  const u64 columns = tensor.ne.front();
  const u64 bytes = *row_bytes(*tensor.type, columns);
  std::vector<std::vector<std::byte>> buffers(std::max(threads, 1u));
  const auto look = [&](u64 row, u64 count, unsigned thread, BlockFacts& facts) -> Status {
    std::vector<std::byte>& blocks = buffers[thread];
    blocks.resize(count * bytes);
    MU_TRY(catalog.files[tensor.file].source->read_exact(tensor.offset + (first + row) * bytes, blocks));
    look_at_blocks(*tensor.type, columns, blocks, with_errors, facts);
    return {};
  };
  return look_everywhere(rows, std::max<u64>(look_bytes / bytes, 1), threads, look);
}

}  // namespace

Result<BlockFacts> facts_of_blocks(const Catalog& catalog, const CatalogTensor& tensor, unsigned threads) {
  return facts_of_rows(catalog, tensor, 0, tensor.bytes / *row_bytes(*tensor.type, tensor.ne.front()), false, threads);
}

Result<BlockFacts> facts_of_blocks(const Catalog& catalog, const DirectoryTensor& tensor, bool with_errors,
                                   unsigned threads) {
  BlockFacts all;
  // The rows of a part lie one after another in the GGUF, whatever their order in the directory.
  for (const DirectoryPart& part : tensor.parts) {
    MU_ASSIGN(const BlockFacts facts,
              facts_of_rows(catalog, catalog.tensors[part.tensor], part.first, part.view.rows(), with_errors, threads));
    all.add(facts);
  }
  return all;
}

Result<BlockFacts> facts_of_values(const Catalog& catalog, const DirectoryTensor& tensor, bool all, unsigned threads) {
  std::atomic<bool> is_settled = false;
  const u64 units = tensor.units();
  const u64 most = std::max<u64>(look_bytes / 4 / tensor.unit, 1);
  struct Worker {
    DirectoryReader reader;
    std::vector<float> values;
  };
  std::vector<Worker> workers(std::max(threads, 1u), Worker{DirectoryReader(catalog, tensor), {}});
  const auto look = [&](u64 first, u64 count, unsigned thread, BlockFacts& facts) -> Status {
    if (is_settled.load()) {
      facts.fits_f16 = facts.fits_bf16 = false;
      return {};
    }
    Worker& worker = workers[thread];
    MU_TRY(worker.reader.read_values(first, count, worker.values));
    look_at_values(worker.values, facts);
    if (!all && !facts.fits_f16 && !facts.fits_bf16) is_settled.store(true);
    return {};
  };
  return look_everywhere(units, tensor.by_element ? units : most, threads, look);
}

}  // namespace modelutils

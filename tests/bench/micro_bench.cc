// Benchmarks of kernels that run over every byte of a model, compared with memcpy of the same bytes in the same run.
// Built with -DMODELUTILS_BENCH=ON; run manually.
#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <vector>

#include "convert/transfer/carriers.h"
#include "convert/transfer/integer_carrier.h"
#include "tensor/block_check.h"
#include "tensor/dequantize.h"

namespace modelutils {
namespace {

constexpr std::size_t chunk = std::size_t{1} << 20;  // a converter's chunk size
constexpr u64 columns = 4096;

std::vector<std::byte> random_bytes(std::size_t size) {
  std::vector<std::byte> bytes(size);
  std::mt19937_64 random(1);
  for (std::size_t at = 0; at + 8 <= size; at += 8) {
    const u64 word = random();
    std::memcpy(bytes.data() + at, &word, 8);
  }
  return bytes;
}

void copy(benchmark::State& state) {
  const std::vector<std::byte> from = random_bytes(chunk);
  std::vector<std::byte> to(chunk);
  for (auto _ : state) {
    std::memcpy(to.data(), from.data(), chunk);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<i64>(chunk));
}
BENCHMARK(copy)->Name("memcpy");

// Counts bytes written, as for memcpy.
void repack(benchmark::State& state, mlx::Params params, TensorType scales, Target target) {
  const StoredForm form = mlx_form(params, TensorType::U32, scales, scales);
  const u64 row = *row_bytes(target.type, columns);
  const u64 rows = chunk / row;
  const u64 groups = rows * columns / params.group_size;
  const std::vector<std::byte> codes = random_bytes(groups * params.group_bytes() + 1);
  std::vector<std::byte> scale_bytes(groups * type_info(scales).block_bytes, std::byte{0x3C});
  std::vector<std::byte> out(rows * row);
  const Bytes biases = params.mode == mlx::Mode::affine ? Bytes(scale_bytes) : Bytes();
  for (auto _ : state) {
    carry_rows(form, columns, target, {Bytes(codes).subspan(1), scale_bytes, biases}, out, nullptr);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<i64>(out.size()));
}
using mlx::Mode;
using enum TensorType;
BENCHMARK_CAPTURE(repack, 4_bit_f16_to_Q4_1, {Mode::affine, 4, 64}, F16, {Q4_1, Carry::blocks, true, {}});
BENCHMARK_CAPTURE(repack, 4_bit_bf16_to_Q4_1, {Mode::affine, 4, 64}, BF16, {Q4_1, Carry::blocks, true, {}});
BENCHMARK_CAPTURE(repack, 4_bit_group_32_bf16_to_Q4_1, {Mode::affine, 4, 32}, BF16, {Q4_1, Carry::blocks, true, {}});
BENCHMARK_CAPTURE(repack, 2_bit_to_Q4_1, {Mode::affine, 2, 64}, BF16, {Q4_1, Carry::blocks, true, {}});
BENCHMARK_CAPTURE(repack, 3_bit_to_Q4_1, {Mode::affine, 3, 64}, BF16, {Q4_1, Carry::blocks, true, {}});
BENCHMARK_CAPTURE(repack, 5_bit_to_Q5_1, {Mode::affine, 5, 64}, BF16, {Q5_1, Carry::blocks, true, {}});
BENCHMARK_CAPTURE(repack, 8_bit_symmetric_to_Q8_0, {Mode::affine, 8, 64}, BF16, {Q8_0, Carry::blocks, true, {}});
BENCHMARK_CAPTURE(repack, 6_bit_to_best_Q8_0, {Mode::affine, 6, 64}, BF16, {Q8_0, Carry::q8_0_best, false, {}});
BENCHMARK_CAPTURE(repack, 8_bit_to_best_Q8_0, {Mode::affine, 8, 64}, BF16, {Q8_0, Carry::q8_0_best, false, {}});
BENCHMARK_CAPTURE(repack, 8_bit_to_F16, {Mode::affine, 8, 64}, BF16, {F16, Carry::encode, false, {}});
BENCHMARK_CAPTURE(repack, mxfp4_to_MXFP4, {Mode::mxfp4, 4, 32}, U8, {MXFP4, Carry::blocks, true, {}});
BENCHMARK_CAPTURE(repack, mxfp4_to_Q5_0, {Mode::mxfp4, 4, 32}, U8, {Q5_0, Carry::blocks, true, {}});
BENCHMARK_CAPTURE(repack, nvfp4_to_NVFP4, {Mode::nvfp4, 4, 16}, U8, {NVFP4, Carry::blocks, true, {}});
BENCHMARK_CAPTURE(repack, mxfp8_to_BF16, {Mode::mxfp8, 8, 32}, U8, {BF16, Carry::encode, true, {}});

void nibbles(benchmark::State& state, bool portable) {
  const std::vector<std::byte> from = random_bytes(chunk);
  std::vector<std::byte> to(chunk);
  for (auto _ : state) {
    const u8* in = reinterpret_cast<const u8*>(from.data());
    u8* out = reinterpret_cast<u8*>(to.data());
    for (std::size_t at = 0; at < chunk; at += 32) {
      if (portable) {
        regroup_nibbles_portable(load<u64>(in + at), load<u64>(in + at + 8), out + at);
        regroup_nibbles_portable(load<u64>(in + at + 16), load<u64>(in + at + 24), out + at + 16);
      } else {
        regroup_two_blocks(in + at, out + at, out + at + 16);
      }
    }
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<i64>(chunk));
}
BENCHMARK_CAPTURE(nibbles, this_machine, false);
BENCHMARK_CAPTURE(nibbles, portable, true);

// Counts the bytes of the blocks.
void check(benchmark::State& state, TensorType type) {
  const std::size_t size = chunk / type_info(type).block_bytes * type_info(type).block_bytes;
  const std::vector<std::byte> blocks(size + 1);
  for (auto _ : state) benchmark::DoNotOptimize(check_blocks(type, Bytes(blocks).subspan(1)).bad_blocks);
  state.SetBytesProcessed(state.iterations() * static_cast<i64>(size));
}

void decode(benchmark::State& state, TensorType type) {
  const std::size_t blocks = chunk / type_info(type).block_bytes;
  std::vector<std::byte> bytes = random_bytes(blocks * type_info(type).block_bytes);
  std::vector<float> values(blocks * type_info(type).block_elements);
  for (auto _ : state) {
    dequantize(type, bytes, values);
    benchmark::DoNotOptimize(values.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<i64>(values.size()));
}

// Registers one benchmark for each type of the table.
const int registered = [] {
  for (const TypeInfo& info : all_types()) {
    const std::string name(info.name);
    const TensorType type = info.type;
    if (has_block_check(type)) {
      benchmark::RegisterBenchmark(("check/" + name).c_str(), [type](benchmark::State& state) { check(state, type); });
    }
    if (has_decoder(type)) {
      benchmark::RegisterBenchmark(("decode/" + name).c_str(),
                                   [type](benchmark::State& state) { decode(state, type); });
    }
  }
  return 0;
}();

}  // namespace
}  // namespace modelutils

BENCHMARK_MAIN();

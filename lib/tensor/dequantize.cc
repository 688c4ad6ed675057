#include "tensor/dequantize.h"

#include <array>

#include "tensor/block_decoders.h"

namespace modelutils {
namespace {

struct Entry {
  TensorType type;
  decode::Decoder* decoder;
};

using enum TensorType;

// clang-format off
constexpr auto decoders = std::to_array<Entry>({
    {F32, decode::f32}, {F16, decode::f16}, {BF16, decode::bf16}, {F64, decode::f64},
    {I8, decode::i8_}, {I16, decode::i16_}, {I32, decode::i32_}, {I64, decode::i64_},
    {BOOL, decode::u8_}, {U8, decode::u8_}, {U16, decode::u16_}, {U32, decode::u32_}, {U64, decode::u64_},
    {F8_E4M3, decode::e4m3}, {F8_E5M2, decode::e5m2}, {F8_E4M3FNUZ, decode::e4m3fnuz},
    {F8_E5M2FNUZ, decode::e5m2fnuz}, {F8_E8M0, decode::e8m0},
    {F4, decode::f4}, {F6_E2M3, decode::f6_e2m3}, {F6_E3M2, decode::f6_e3m2},
    {Q4_0, decode::q4_0}, {Q4_1, decode::q4_1}, {Q5_0, decode::q5_0}, {Q5_1, decode::q5_1},
    {Q8_0, decode::q8_0}, {Q8_1, decode::q8_1}, {IQ4_NL, decode::iq4_nl}, {MXFP4, decode::mxfp4},
    {NVFP4, decode::nvfp4}, {Q1_0, decode::q1_0}, {Q2_0, decode::q2_0}, {TQ1_0, decode::tq1_0}, {TQ2_0, decode::tq2_0},
    {Q2_K, decode::q2_k}, {Q3_K, decode::q3_k}, {Q4_K, decode::q4_k}, {Q5_K, decode::q5_k}, {Q6_K, decode::q6_k},
    {Q8_K, decode::q8_k},
    {IQ2_XXS, decode::iq2_xxs}, {IQ2_XS, decode::iq2_xs}, {IQ2_S, decode::iq2_s}, {IQ3_XXS, decode::iq3_xxs},
    {IQ3_S, decode::iq3_s}, {IQ1_S, decode::iq1_s}, {IQ1_M, decode::iq1_m}, {IQ4_XS, decode::iq4_xs},
});
// clang-format on

decode::Decoder* decoder_of(TensorType type) {
  for (const Entry& entry : decoders) {
    if (entry.type == type) return entry.decoder;
  }
  return nullptr;
}

}  // namespace

bool has_decoder(TensorType type) {
  return decoder_of(type) != nullptr;
}

void dequantize(TensorType type, Bytes blocks, std::span<float> out) {
  decoder_of(type)(reinterpret_cast<const u8*>(blocks.data()), out.data(), out.size() / type_info(type).block_elements);
}

}  // namespace modelutils

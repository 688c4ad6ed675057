// Converts ggml blocks to MLX's packed groups without decoding them: which types MLX can represent exactly, and their
// codes, scales and biases. Source: docs/formats/mlx.md, "GGUF's blocks in this form".
#pragma once

#include <optional>
#include <span>

#include "base/instructions.h"
#include "base/types.h"
#include "model/mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils::mlx {

// Extracts the codes of each block type that has an exact form, and packs eight codes into a word.

/// Writes the codes of one block, one per byte.
using TakeCodes = void(const u8* block, u8* codes);
/// Returns the function for a type; nullptr if the type has no exact form.
TakeCodes* codes_of(TensorType type);

/// The inverse of spread_codes(): packs the eight bytes of `codes`, each below 2^bits, without gaps.
constexpr u64 join_codes(u64 codes, u32 bits) {
  codes = (codes & 0x00FF00FF00FF00FFu) | (codes & 0xFF00FF00FF00FF00u) >> (8 - bits);
  codes = (codes & 0x0000FFFF0000FFFFu) | (codes & 0xFFFF0000FFFF0000u) >> (16 - 2 * bits);
  return (codes & 0x00000000FFFFFFFFu) | codes >> 32 << (4 * bits);
}

/// Returns the MLX parameters that represent every value of a type exactly, with float32 scales and biases unless they
/// are bytes: affine with groups that share what a block (or a part of it) shares, mxfp4 or nvfp4. Returns nullopt for
/// types with a scale for fewer weights than MLX's smallest group, and for types without blocks.
///
/// Exceptions: -0, which becomes 0 (in the FP modes 0 can become -0), values of blocks whose scale is NaN or infinite,
/// and FP scale bytes that MLX reads differently (foreign_scale_bytes()).
std::optional<Params> exact_params(TensorType type);

/// True if the type's scales are products of two numbers in the block, which rarely fit 16 bits. In other types a scale
/// is one F16 of the block.
bool has_product_scales(TensorType type);

/// Computes the scales and biases of whole blocks, one per group, such that code × scale + bias (product and sum each
/// rounded to float32) is the decoder's value. For affine forms; sizes as in exact_params(). The result does not depend
/// on the instructions.
void take_scales(TensorType type, Bytes blocks, std::span<float> scales, std::span<float> biases,
                 Instructions instructions = best_instructions());

/// Copies the scale bytes of MXFP4 or NVFP4 blocks, one per group.
void take_scale_bytes(TensorType type, Bytes blocks, std::span<u8> scales);

/// Returns the number of scale bytes that MLX reads differently from ggml: E8M0 255; UE4M3 0x7F and above.
u64 foreign_scale_bytes(TensorType type, std::span<const u8> scales);

/// Extracts the unsigned codes of whole blocks, one per byte, in element order.
void take_codes(TensorType type, Bytes blocks, std::span<u8> codes);

/// The inverse of unpack_codes(): packs `codes`, a multiple of eight, each below 2^bits, into a little-endian bit
/// stream of codes.size() × bits / 8 bytes.
void pack_codes(u32 bits, std::span<const u8> codes, MutableBytes packed);

/// take_codes() and pack_codes() in one step: packs the codes of whole blocks, each below 2^bits, into packed.size()
/// bytes.
void take_packed(TensorType type, u32 bits, Bytes blocks, MutableBytes packed);

}  // namespace modelutils::mlx

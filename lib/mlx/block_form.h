// ggml's blocks as MLX's packed groups, without decoding them: which types have a form in MLX that holds every value,
// and their codes, scales and biases. Source: docs/formats/mlx.md, "GGUF's blocks in this form".
#pragma once

#include <optional>
#include <span>

#include "base/instructions.h"
#include "base/types.h"
#include "mlx/quantization.h"
#include "tensor/types.h"

namespace modelutils::mlx {

/// The form that holds every value of a type, with float32 scales and biases where they are not bytes: affine in groups
/// that share what a block (or a part of it) shares, mxfp4 or nvfp4. Nothing for types with one scale for fewer weights
/// than MLX's smallest group, and for those that are not blocks.
///
/// Not held: -0 (which becomes 0, and the other way round in the FP modes), values of blocks whose scale is NaN or
/// infinite, and FP scale bytes that MLX reads in another way (foreign_scale_bytes()).
std::optional<Params> exact_params(TensorType type);

/// Are its scales products of two numbers of the block, which 16 bits hardly ever hold? Others are one F16 of it.
bool has_product_scales(TensorType type);

/// Scales and biases of whole blocks, one a group, as the decoder computes them: code × scale + bias (product and sum
/// each rounded to float32) is the decoder's value. Affine forms only; sizes agree with exact_params(). The
/// instructions make no difference to the result.
void take_scales(TensorType type, Bytes blocks, std::span<float> scales, std::span<float> biases,
                 Instructions instructions = best_instructions());

/// The scale bytes of MXFP4 or NVFP4 blocks, one a group.
void take_scale_bytes(TensorType type, Bytes blocks, std::span<u8> scales);

/// Those of them that MLX reads in another way than ggml: E8M0 255, UE4M3 0x7F and above.
u64 foreign_scale_bytes(TensorType type, std::span<const u8> scales);

/// The unsigned codes of whole blocks, one a byte, in the order of the elements.
void take_codes(TensorType type, Bytes blocks, std::span<u8> codes);

/// The reverse of unpack_codes(): `codes`, a multiple of eight, each below 2^bits, become a little-endian bit stream of
/// codes.size() × bits / 8 bytes.
void pack_codes(u32 bits, std::span<const u8> codes, MutableBytes packed);

/// take_codes() and pack_codes() in one: the codes of whole blocks, each below 2^bits, as packed.size() bytes.
void take_packed(TensorType type, u32 bits, Bytes blocks, MutableBytes packed);

}  // namespace modelutils::mlx

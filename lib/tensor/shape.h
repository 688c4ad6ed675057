// Shapes: ne order (ne0 = contiguous dimension first), as in GGUF. safetensors shapes are the reverse.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// Product of all dimensions, left to right; nothing on overflow, even if a later dimension is 0. 1 for no dimensions.
std::optional<u64> element_count(std::span<const u64> dims);

/// Bytes of a tensor of shape `ne` (ne0 first): row_bytes(type, ne0) × ne1 × …; nothing if ne0 does not divide into
/// blocks, the size does not fit into 63 bits or the elements cannot be counted. A tensor without dimensions has one
/// element. For GGUF; safetensors counts packed_bytes(type, element_count(shape)), see types.h.
std::optional<u64> tensor_bytes(TensorType type, std::span<const u64> ne);

/// The dimensions the other way round.
std::vector<u64> reversed(std::span<const u64> dims);

/// Are they the same, missing trailing dimensions being 1? So ggml sees shapes in ne order.
bool is_same_shape(std::span<const u64> a, std::span<const u64> b);

/// "4096 × 32000" style text of the dimensions as given; empty for no dimensions.
std::string shape_text(std::span<const u64> dims);
void append_shape_text(std::string& out, std::span<const u64> dims);

}  // namespace modelutils

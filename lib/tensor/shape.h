// Shapes in ne order, as in GGUF: ne0, the contiguous dimension, is first. safetensors shapes are the reverse.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "tensor/types.h"

namespace modelutils {

/// Product of all dimensions, left to right. Returns nullopt on overflow, even if a later dimension is 0; 1 for no
/// dimensions.
std::optional<u64> element_count(std::span<const u64> dims);

/// Returns the size in bytes of a tensor of shape `ne` (ne0 first): row_bytes(type, ne0) × ne1 × … A tensor without
/// dimensions has one element. Returns nullopt if ne0 is not a multiple of the block's elements, the size exceeds 63
/// bits or the element count overflows. For GGUF; safetensors uses packed_bytes(type, element_count(shape)), see
/// types.h.
std::optional<u64> tensor_bytes(TensorType type, std::span<const u64> ne);

/// Returns the dimensions in reverse order.
std::vector<u64> reversed(std::span<const u64> dims);

/// True if the shapes are equal, with missing trailing dimensions taken as 1. ggml compares shapes in ne order like
/// this.
bool is_same_shape(std::span<const u64> a, std::span<const u64> b);

/// Returns the given dimensions as "4096 × 32000"; empty for no dimensions.
std::string shape_text(std::span<const u64> dims);
void append_shape_text(std::string& out, std::span<const u64> dims);

}  // namespace modelutils

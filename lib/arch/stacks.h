// The layers of an encoder and a decoder. Rows in such layers are called "enc.attn_q" and "dec.attn_q", their layers
// "enc.blk.N." and "dec.blk.N." in a GGUF. In a directory the names of their modules begin with the first part of the
// layers' prefix: "encoder.layer.0.q" is in "encoder.block.N.".
#pragma once

#include <string>
#include <string_view>

#include "arch/family.h"
#include "arch/sizes.h"

namespace modelutils::arch {

namespace symbol {
inline constexpr std::string_view decoder_layers = "Ldec";  ///< decoder_block_count
}

/// Returns "enc.", "dec.", or an empty view for rows of a family with one stack of layers.
std::string_view stack_of(const Tensor& row);
/// True if the family's layers are in stacks.
bool has_stacks(const Family& family);

/// Returns the full name of a module in a layer of a directory, below the prefix in "a.|b." that belongs to its stack,
/// or else below the first.
std::string module_in_layer(const Tensor& row, std::string_view prefixes, u64 layer, std::string_view module);

/// Returns the number of layers in the longest stack. Symbol "L" counts those of the encoder, or of the only stack.
u64 layers_of_stacks(const Family& family, const Sizes& sizes);

}  // namespace modelutils::arch

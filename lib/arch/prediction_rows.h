// Blocks that predict further tokens (multi-token prediction), as directories have them and as a GGUF does: what their
// tensors are called and how large they are. A block is one more layer behind the others, with the family's rows of a
// layer and those of PredictionForm::tensors.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/expected_tensors.h"
#include "arch/family.h"
#include "arch/geometry.h"
#include "arch/named_rows.h"
#include "arch/names.h"
#include "arch/sizes.h"

namespace modelutils::arch {

/// What joins a block to the model: the next token's embedding and the last hidden state, each normalised, side by
/// side. Without a head, an embedding or a last norm of its own a block uses the model's.
inline constexpr std::array<Tensor, 6> nextn_tensors = {{
    {"nextn.eh_proj", "2*E,E", "eh_proj"},
    {"nextn.enorm", "E", "enorm"},
    {"nextn.hnorm", "E", "hnorm"},
    {"nextn.embed_tokens", "E,V", "embed_tokens", Need::optional},
    {"nextn.shared_head_head", "E,V", "shared_head.head", Need::optional},
    {"nextn.shared_head_norm", "E", "shared_head.norm", Need::optional},
}};
/// The same where the model's norms are stored minus one.
inline constexpr std::array<Tensor, 6> zero_centred_nextn_tensors = {{
    named(nextn_tensors, "nextn.eh_proj"),
    {"nextn.enorm", "E", "[mlx] enorm | enorm@add_one"},
    {"nextn.hnorm", "E", "[mlx] hnorm | hnorm@add_one"},
    named(nextn_tensors, "nextn.embed_tokens"),
    named(nextn_tensors, "nextn.shared_head_head"),
    {"nextn.shared_head_norm", "E", "[mlx] shared_head.norm | shared_head.norm@add_one", Need::optional},
}};

/// The name that a tensor of a block would have if its block were one more layer ("mtp.fc.weight" of a model with 48
/// layers: "model.layers.48.eh_proj.weight"). Nothing for tensors that belong to no block, and for those of families
/// whose blocks are not known.
std::optional<std::string> name_as_layer(const Names& names, const hf::Config& config, std::string_view canonical);

/// Sizes that hold in blocks [L, L + blocks): those of the last layer, what the family's PredictionForm says, and of
/// numbers that differ from layer to layer what the blocks' own shapes tell. L in the result is the number of layers
/// and blocks together.
Sizes sizes_of_blocks(const Family& family, const Sizes& layers, u64 blocks, std::span<const ShapeFact> facts = {});

/// The sizes of a file, whose layers are counted with `blocks` behind them, as they hold in those.
Sizes stated_sizes_of_blocks(const Family& family, Sizes sizes, u64 blocks);

/// The tensors of the last `blocks` of the layers that `sizes` (from sizes_of_blocks()) counts, in the order in which
/// they are written.
std::vector<ExpectedTensor> expected_block_tensors(const Family& family, const Sizes& sizes, u64 blocks);

}  // namespace modelutils::arch

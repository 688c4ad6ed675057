// Names and sizes of blocks that predict further tokens (multi-token prediction), in directories and in GGUFs. A block
// is an additional layer after the others, with the family's layer rows and those of PredictionForm::tensors.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/common_tensors.h"
#include "arch/family.h"
#include "arch/geometry.h"
#include "arch/loader_forms.h"
#include "arch/names.h"
#include "arch/sizes.h"
#include "formats/gguf/split_set.h"

namespace modelutils::arch {

// Blocks that predict further tokens (multi-token prediction), which follow the trunk's blocks.

/// A key of files that contain only such blocks. It has an element per tensor: the name of the tensor before it in the
/// model ("" for the first), so that --graft-mtp can restore the order.
inline constexpr std::string_view extracted_key = "modelutils.mtp.after";

/// True if the file has such blocks but no trunk: ARCH.nextn_predict_layers is not 0, and every "blk.N." has N of at
/// least ARCH.block_count minus that. llama.cpp only runs such a file beside its model; it crashes on the file alone.
bool is_prediction_alone(const gguf::SplitSet& set);

/// The tensors that connect a block to the model: its input is the next token's embedding beside the last hidden state,
/// each normalised. A block without its own head, embedding or final norm uses the model's.
inline constexpr std::array<Tensor, 6> nextn_tensors = {{
    {"nextn.eh_proj", "2*E,E", "eh_proj"},
    {"nextn.enorm", "E", "enorm"},
    {"nextn.hnorm", "E", "hnorm"},
    {"nextn.embed_tokens", "E,V", "embed_tokens", Need::optional},
    {"nextn.shared_head_head", "E,V", "shared_head.head", Need::optional},
    {"nextn.shared_head_norm", "E", "shared_head.norm", Need::optional},
}};
/// The same for models whose norms are stored minus one.
inline constexpr std::array<Tensor, 6> zero_centred_nextn_tensors = {{
    named(nextn_tensors, "nextn.eh_proj"),
    {"nextn.enorm", "E", "[mlx] enorm | enorm@add_one"},
    {"nextn.hnorm", "E", "[mlx] hnorm | hnorm@add_one"},
    named(nextn_tensors, "nextn.embed_tokens"),
    named(nextn_tensors, "nextn.shared_head_head"),
    {"nextn.shared_head_norm", "E", "[mlx] shared_head.norm | shared_head.norm@add_one", Need::optional},
}};

/// Returns the name that a block's tensor would have if the block were another layer: "model.layers.48.eh_proj.weight"
/// for "mtp.fc.weight" in a model with 48 layers. Returns nullopt for tensors outside blocks and for families whose
/// blocks are unknown.
std::optional<std::string> name_as_layer(const Names& names, const hf::Config& config, std::string_view canonical);

/// Returns sizes for the blocks [L, L + blocks). They are the last layer's, with the changes in the family's
/// PredictionForm; sizes that differ between layers follow from the blocks' own shapes if possible. L in the result
/// counts layers and blocks.
Sizes sizes_of_blocks(const Family& family, const Sizes& layers, u64 blocks, std::span<const ShapeFact> facts = {});

/// Returns `sizes`, whose layers already include `blocks`, with the family's sizes for these blocks.
Sizes stated_sizes_of_blocks(const Family& family, Sizes sizes, u64 blocks);

/// Returns the tensors of the last `blocks` layers in output order. `sizes` comes from sizes_of_blocks().
std::vector<ExpectedTensor> expected_block_tensors(const Family& family, const Sizes& sizes, u64 blocks);

}  // namespace modelutils::arch

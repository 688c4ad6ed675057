// What quantization_config says of a method that is not MLX's. It only explains: what a module is, its tensors say
// (foreign_forms.h). docs/formats/hf-quantized.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "hf/config.h"

namespace modelutils {

/// How words of codes with scales and qzeros may lie: GPTQ's, AWQ's of either version.
enum class WordLayout : u8 { gptq, awq_gemm, awq_gemv };

/// What the settings say of some of the weights: a group of config_groups, an exception, or all.
struct StatedWeights {
  std::optional<u64> bits;
  std::optional<u64> group_size;  ///< columns that share a scale; 0: one scale for a row
  std::optional<bool> is_symmetric;
};

struct ForeignMethod {
  std::string name;                   ///< quant_method; empty: none
  bool is_known = false;              ///< its forms are recognised
  std::string refusal;                ///< why it is not converted although it is known
  u64 group_size = 0;                 ///< 0: not stated, or one group for a row
  std::vector<u64> bits;              ///< num_bits of every group, or bits
  std::vector<StatedWeights> stated;  ///< tensors that fit none of these contradict the settings
  u64 block_rows = 128;               ///< weight_block_size
  u64 block_columns = 128;
  bool states_block = false;             ///< weight_block_size, of every module
  WordLayout layout = WordLayout::gptq;  ///< taken where its shapes fit: those of another may fit, too
  bool states_version = false;           ///< of AWQ: the settings say which layout it is
  bool is_gptq_v2 = false;               ///< checkpoint_format
  bool is_symmetric = false;
  bool orders_columns = false;  ///< desc_act: a g_idx must say which group each is in
};

/// `name` is the method, which hf_quant_config.json may tell instead of `config`.
ForeignMethod read_foreign_method(const hf::Config& config, std::string name);

}  // namespace modelutils

// The settings in quantization_config of methods other than MLX's. They only help to interpret the tensors, which
// determine a module's form (foreign_forms.h). docs/formats/hf-quantized.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "hf/config.h"

namespace modelutils {

/// Layouts of packed codes with scales and qzeros: GPTQ's, and AWQ's two versions.
enum class WordLayout : u8 { gptq, awq_gemm, awq_gemv };

/// The settings for some of the weights: a group in config_groups, an exception, or all.
struct StatedWeights {
  std::optional<u64> bits;
  std::optional<u64> group_size;  ///< columns per scale; 0: one scale per row
  std::optional<bool> is_symmetric;
};

struct ForeignMethod {
  std::string name;                   ///< quant_method; empty if there is none
  bool is_known = false;              ///< we recognise its forms
  std::string refusal;                ///< why a known method cannot be converted; empty if it can
  u64 group_size = 0;                 ///< 0: not stated, or one group per row
  std::vector<u64> bits;              ///< num_bits of every group, or `bits`
  std::vector<StatedWeights> stated;  ///< tensors that match none of these contradict the settings
  u64 block_rows = 128;               ///< weight_block_size
  u64 block_columns = 128;
  bool states_block = false;             ///< weight_block_size is set, for all modules
  WordLayout layout = WordLayout::gptq;  ///< preferred if the shapes fit several layouts
  bool states_version = false;           ///< AWQ: the settings name the layout
  bool is_gptq_v2 = false;               ///< checkpoint_format
  bool is_symmetric = false;
  bool orders_columns = false;  ///< desc_act: a g_idx must assign the columns to groups
};

/// `name` is the method's name, which may come from hf_quant_config.json instead of `config`.
ForeignMethod read_foreign_method(const hf::Config& config, std::string name);

}  // namespace modelutils

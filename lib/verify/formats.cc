#include "verify/formats.h"

#include <algorithm>
#include <array>

#include "verify/bump/parity_bump.h"
#include "verify/bump/rules.h"
#include "verify/bump/v5_parity.h"
#include "verify/bump/v5_rules.h"
#include "verify/gguf/parity_gguf.h"
#include "verify/gguf/rules.h"
#include "verify/hf/mlx_rules.h"
#include "verify/hf/parity_directory.h"
#include "verify/hf/parity_mlx.h"
#include "verify/safetensors/rules.h"

namespace modelutils {

namespace {

const std::array rules_table = {
    FormatRules{.format = Format::gguf, .check = check_gguf, .catalog = catalog_of_gguf},
    FormatRules{Format::mlx, check_model_directory},
    FormatRules{Format::safetensors, check_safetensors},
    FormatRules{Format::bump, check_bump, check_bump_manifest, true},
    FormatRules{Format::bump4, check_bump5, nullptr, true},
    FormatRules{Format::bump5, check_bump5, nullptr, true},
};

const std::array parity_table = {
    ParityRules{Format::bump, Format::gguf, compare_bump_with_gguf},
    ParityRules{Format::bump4, Format::gguf, compare_bump5_with_gguf},
    ParityRules{Format::bump5, Format::gguf, compare_bump5_with_gguf},
    ParityRules{Format::gguf, Format::mlx, compare_with_mlx},
    ParityRules{Format::gguf, Format::gguf, compare_gguf_with_gguf},
    ParityRules{Format::mlx, Format::gguf, compare_directory_with_gguf},
};

}  // namespace

const FormatRules& rules_of(Format format) {
  return *std::ranges::find(rules_table, format, &FormatRules::format);
}

std::span<const ParityRules> all_parities() {
  return parity_table;
}

}  // namespace modelutils

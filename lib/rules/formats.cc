#include "rules/formats.h"

#include <algorithm>
#include <array>

#include "rules/bump/rules.h"
#include "rules/directory/mlx_rules.h"
#include "rules/gguf/rules.h"
#include "rules/imatrix/rules.h"
#include "rules/pytorch/rules.h"
#include "rules/safetensors/rules.h"

namespace modelutils {

namespace {

const std::array rules_table = {
    FormatRules{.format = Format::gguf, .check = check_gguf, .may_read_meanwhile = true},
    FormatRules{Format::mlx, check_model_directory},
    FormatRules{Format::pytorch, check_pytorch},
    FormatRules{Format::safetensors, check_safetensors},
    FormatRules{Format::bump, check_bump, true},
    FormatRules{Format::bump4, check_bump5, true},
    FormatRules{Format::bump5, check_bump5, true},
    FormatRules{Format::imatrix, check_imatrix},
};

}  // namespace

const FormatRules& rules_of(Format format) {
  return *std::ranges::find(rules_table, format, &FormatRules::format);
}

}  // namespace modelutils

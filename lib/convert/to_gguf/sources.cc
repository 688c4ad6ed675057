#include "convert/to_gguf/sources.h"

#include <fmt/core.h>

#include <algorithm>

#include "arch/stacks.h"
#include "formats/hf/names.h"

namespace modelutils {

Status HfSources::collect() {
  used_.assign(model_.matrices.size(), false);
  for (std::size_t i = 0; i < model_.matrices.size(); ++i) {
    const Weight& matrix = model_.matrices[i];
    const std::optional<arch::SourceMatch> match = names_.match(matrix.name);
    // Only stacks of experts have names without a suffix, and stacks have two dimensions or more.
    const bool has_suffix = hf::split_name(matrix.name).suffix != hf::Suffix::none;
    const bool is_stack = matrix.ne.size() >= 2;
    bool taken = false, counts = false;
    if (match) {
      for (const arch::SourceUse& use : *match->uses) {
        const bool is_complete = use.row->name.starts_with('@');
        if (!has_suffix && !is_complete && !is_stack) continue;
        taken = true;
        counts = counts || arch::stack_of(*use.row) != "dec.";
        PartMatrices& matrices = slots_[{use.row, match->layer.value_or(0), use.side, use.alternative, use.part}];
        if (!matrices.emplace(match->expert.value_or(0), i).second) {
          return input_error(match->expert ? "convert-experts" : "convert-unmapped",
                             match->expert ? "has the same expert number as another tensor"
                                           : "would become the same GGUF tensor as another one in the directory",
                             at_tensor(matrix.name), {}, model_.directory);
        }
      }
    }
    if (!taken) {
      unmapped_.push_back(matrix.name);
      used_[i] = true;
    } else if (match->layer && counts) {
      layers_ = std::max(layers_, *match->layer + 1);
    }
  }
  return {};
}

std::vector<arch::ShapeFact> HfSources::shape_facts(u64 end) const {
  std::vector<arch::ShapeFact> facts;
  for (const auto& [slot, matrices] : slots_) {
    const auto& [row, layer, side, alternative, part] = slot;
    if (layer >= end) continue;
    const auto& [condition, parts] = names_.alternatives(*row)[alternative];
    const std::size_t before = facts.size();
    const std::vector<u64> shape = reversed(model_.matrices[matrices.begin()->second].ne);
    arch::add_shape_facts(*row, side, parts[part], parts.size() == 1, shape, matrices.size(), layer, facts);
    for (std::size_t i = before; i < facts.size(); ++i) facts[i].condition = condition;
  }
  return facts;
}

std::vector<const PartMatrices*> HfSources::parts(const arch::Tensor& row, u64 layer, arch::Side side,
                                                  std::size_t alternative) const {
  std::vector<const PartMatrices*> parts;
  for (std::size_t part = 0; part < names_.alternatives(row)[alternative].parts.size(); ++part) {
    const auto found = slots_.find({&row, layer, side, alternative, part});
    if (found == slots_.end()) return {};
    parts.push_back(&found->second);
  }
  return parts;
}

void HfSources::use(const std::vector<const PartMatrices*>& parts) {
  for (const PartMatrices* matrices : parts) {
    for (const auto& [expert, matrix] : *matrices) used_[matrix] = true;
  }
}

std::vector<std::string> HfSources::unused() const {
  std::vector<std::string> names = unmapped_;
  for (std::size_t i = 0; i < used_.size(); ++i) {
    if (!used_[i]) names.push_back(model_.matrices[i].name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace modelutils

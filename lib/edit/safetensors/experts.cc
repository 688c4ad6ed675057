#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <span>

#include "arch/families.h"
#include "base/text.h"
#include "edit/block_edits.h"
#include "edit/safetensors/edited_set.h"
#include "formats/hf/config.h"

namespace modelutils::to_safetensors {

namespace {

// Components of the names of tensors with a row or a matrix per expert.
constexpr std::array<std::string_view, 5> stack_components = {"experts", "switch_mlp", "expert_bias",
                                                              "e_score_correction_bias", "moe_statics"};
constexpr std::array<std::string_view, 3> router_components = {"gate", "router", "wg"};

class DirectoryExpertCut {
 public:
  DirectoryExpertCut(EditedSet& set, const StOperation& operation) : set_(set), operation_(operation) {}

  Status cut() {
    const hf::Config* config = set_.model.config();
    const arch::Family* family = config == nullptr ? nullptr : arch::find_family(*config);
    if (family == nullptr || !set_.config) return refuse("needs a directory with the config.json of a known family");
    experts_ = config->count_field(hf::fields::experts).value_or(0);
    if (experts_ == 0) return refuse("the model has no experts");
    MU_ASSIGN(kept_, edit::parse_number_list(operation_.operand, experts_, "expert", operation_.where()));
    MU_TRY(check_counts(*config));
    if (!set_.force) MU_TRY(check_weights(*config, *family));
    MU_TRY(cut_tensors());
    for (const char* const parent : {"", "text_config/", "thinker_config/", "thinker_config/text_config/"}) {
      for_each_name(hf::fields::experts, [&](std::string_view field) {
        const std::string path = parent + std::string(field);
        if (set_.config->find(path)) set_.config->set(path, std::to_string(kept_.size()));
      });
    }
    set_.report.changes.push_back(fmt::format("config.json: {} → {}", counted(experts_, "expert"), kept_.size()));
    return {};
  }

 private:
  tl::unexpected<Error> refuse(const std::string& message, const std::string& tensor = {}) const {
    return input_error("edit-experts", fmt::format("{}: {}", operation_.where(), message),
                       tensor.empty() ? std::string() : at_tensor(tensor));
  }

  Status check_counts(const hf::Config& config) const {
    const u64 used = config.count_field(hf::fields::experts_used).value_or(0);
    if (kept_.size() < std::max<u64>(used, 1)) {
      return refuse(
          fmt::format("{} would be left, but the router selects {} per token", counted(kept_.size(), "expert"), used));
    }
    const u64 groups = config.u64_field("n_group|num_expert_group").value_or(0);
    if (groups <= 1 || experts_ % groups != 0) return {};
    std::vector<u64> left(static_cast<std::size_t>(groups), 0);
    for (const u64 expert : kept_) ++left[static_cast<std::size_t>(expert / (experts_ / groups))];
    if (std::ranges::all_of(left, [&](u64 number) { return number == left.front() && number > 1; })) return {};
    return refuse(fmt::format("experts are in {} groups of {}: keep the same number of each group, at least 2", groups,
                              experts_ / groups));
  }

  // Checks that the remaining experts' weights stay the same for every token that chose none of the dropped ones.
  Status check_weights(const hf::Config& config, const arch::Family& family) const {
    const bool is_normalised = family.renormalises_experts || config.bool_field("norm_topk_prob").value_or(false) ||
                               config.string_field("scoring_func|score_func").value_or("softmax") == "sigmoid";
    if (is_normalised) return {};
    return refuse(
        "expert weights are normalised over all experts, so the remaining ones would weigh more; --force drops the "
        "others anyway");
  }

  // Returns the number in "….experts.3.…" and its position.
  static std::optional<std::pair<u64, std::size_t>> own_expert(std::string_view name) {
    constexpr std::string_view before = "experts.";
    const std::size_t found = name.find(before);
    if (found == name.npos) return std::nullopt;
    const std::size_t at = found + before.size();
    const std::size_t end = std::min(name.find_first_not_of("0123456789", at), name.size());
    if (end == at || end - at > 6) return std::nullopt;
    return std::pair(std::stoul(std::string(name.substr(at, end - at))), at);
  }

  static bool is_of(std::span<const std::string_view> components, std::string_view name) {
    bool is_any = false;
    while (!name.empty()) {
      const std::size_t dot = std::min(name.find('.'), name.size());
      const std::string_view part = name.substr(0, dot);
      is_any = is_any || std::ranges::find(components, part) != components.end();
      name.remove_prefix(std::min(dot + 1, name.size()));
    }
    return is_any;
  }

  Status cut_tensors() {
    std::vector<bool> gone(set_.tensors.size(), false);
    std::vector<std::string> names;
    bool is_any = false;
    for (std::size_t i = 0; i < set_.tensors.size(); ++i) {
      EditedTensor& tensor = set_.tensors[i];
      std::string name = tensor.name;
      if (const auto own = own_expert(name)) {
        const auto place = std::ranges::lower_bound(kept_, own->first);
        gone[i] = place == kept_.end() || *place != own->first;
        const std::size_t end = std::min(name.find_first_not_of("0123456789", own->second), name.size());
        name.replace(own->second, end - own->second, std::to_string(place - kept_.begin()));
        is_any = true;
      } else if (is_of(stack_components, name) || is_of(router_components, name)) {
        MU_TRY(cut_stack(tensor));
        is_any = true;
      }
      if (!gone[i]) names.push_back(std::move(name));
    }
    if (!is_any) return refuse("no tensor has experts");
    drop_tensors(set_, gone);
    rename_tensors(set_, std::move(names));
    return {};
  }

  // A stack of experts, or the rows of a router.
  Status cut_stack(EditedTensor& tensor) const {
    const Tensor& source = set_.source(tensor);
    const bool is_scalar = source.ne.empty() || tensor.elements() == 1;
    if (is_scalar) return {};  // a factor for the whole stack
    if (is_of(router_components, tensor.name) && !is_of(stack_components, tensor.name) &&
        tensor.ne.back() != experts_) {
      return {};  // a part of the router that is not one per expert
    }
    const bool is_whole = tensor.parts.size() == 1 && tensor.parts.front().from.base == 0;
    if (tensor.ne.back() != experts_ || !is_whole || !packed_bytes(tensor.type, tensor.unit)) {
      return refuse(fmt::format("is not made of {} experts", experts_), tensor.name);
    }
    tensor.parts.clear();
    for (std::size_t i = 0; i < kept_.size();) {
      std::size_t end = i + 1;
      while (end < kept_.size() && kept_[end] == kept_[end - 1] + 1) ++end;
      RecipePart part;
      part.source = tensor.origin;
      part.from = arch::run_of_rows(kept_[i], end - i, experts_);
      part.to = arch::run_of_rows(i, end - i, kept_.size());
      tensor.parts.push_back(std::move(part));
      i = end;
    }
    tensor.ne.back() = kept_.size();
    return {};
  }

  EditedSet& set_;
  const StOperation& operation_;
  u64 experts_ = 0;
  std::vector<u64> kept_;
};

}  // namespace

Status keep_experts(EditedSet& set, const StOperation& operation) {
  return DirectoryExpertCut(set, operation).cut();
}

}  // namespace modelutils::to_safetensors

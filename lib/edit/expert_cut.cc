#include "edit/block_edits.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "arch/families.h"
#include "arch/names.h"
#include "arch/prediction_block.h"
#include "base/counted.h"
#include "edit/number_list.h"
#include "gguf/key_elements.h"

namespace modelutils::edit {

namespace {

constexpr u64 softmax_gating = 1;

class ExpertCut {
 public:
  ExpertCut(EditedModel& model, const EditOperation& operation, bool force)
      : model_(model), operation_(operation), force_(force), counts_(counts_of(model)) {}

  Status cut() {
    experts_ = count_of(model_, counts_.key("expert_count"));
    if (experts_ == 0) return refuse("the model has no experts", counts_.key("expert_count"));
    family_ = arch::find_gguf_family(counts_.architecture, true);
    if (family_ == nullptr) {
      return refuse(fmt::format("the experts of architecture '{}' are not known", counts_.architecture),
                    "general.architecture");
    }
    MU_TRY(read_lists());
    MU_TRY(check_counts());
    if (!force_) MU_TRY(check_weights());
    const arch::Names names(*family_);
    for (EditedTensor& tensor : model_.tensors) MU_TRY(cut_tensor(names, tensor));
    if (!is_cut_) return refuse("no tensor has experts", counts_.key("expert_count"));
    change_keys();
    return {};
  }

 private:
  tl::unexpected<Error> refuse(const std::string& message, const std::string& key) const {
    return input_error("edit-experts", fmt::format("{}: {}", operation_.where(), message), at_key(key));
  }

  Status read_lists() {
    const std::string& operand = operation_.operands.front();
    if (looks_like_number_list(operand)) return read_list(operand, {});
    MU_ASSIGN(const std::string text, read_operand_file(operand));
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (line.find_first_not_of(" \t\r") == std::string_view::npos || line.starts_with('#')) continue;
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos) {
        MU_TRY(read_list(line, {}));
        continue;
      }
      MU_ASSIGN(const std::vector<u64> layers,
                parse_number_list(line.substr(0, colon), counts_.blocks, "layer", operation_.where()));
      for (const u64 layer : layers) MU_TRY(read_list(line.substr(colon + 1), layer));
    }
    if (kept_ == 0) return usage_error(fmt::format("{}: '{}' names no experts", operation_.where(), operand));
    return {};
  }

  Status read_list(std::string_view text, std::optional<u64> layer) {
    MU_ASSIGN(std::vector<u64> list, parse_number_list(text, experts_, "expert", operation_.where()));
    if (kept_ != 0 && list.size() != kept_) {
      return refuse(
          fmt::format("{} are kept in one layer and {} in another, but a GGUF has a single expert count for all layers",
                      counted(kept_, "expert"), list.size()),
          counts_.key("expert_count"));
    }
    kept_ = list.size();
    if (layer) {
      by_layer_[*layer] = std::move(list);
    } else {
      for_all_ = std::move(list);
    }
    return {};
  }

  const std::vector<u64>& kept_in(u64 layer) const {
    const auto found = by_layer_.find(layer);
    return found == by_layer_.end() ? for_all_ : found->second;
  }

  Status check_counts() {
    const gguf::OutKey* used = model_.find_key(counts_.key("expert_used_count"));
    const gguf::KeyElements elements = used == nullptr ? gguf::KeyElements{} : gguf::elements_of(*used);
    for (u64 i = 0; i < elements.count.value_or(1); ++i) {
      const u64 number = elements.number(i).value_or(0);
      if (number <= kept_) continue;
      return refuse(
          fmt::format("{} would be left, but the router selects {} per token", counted(kept_, "expert"), number),
          counts_.key("expert_used_count"));
    }
    const u64 groups = count_of(model_, counts_.key("expert_group_count"));
    if (groups <= 1) return {};
    MU_TRY(check_groups(groups, for_all_));
    for (const auto& [layer, list] : by_layer_) MU_TRY(check_groups(groups, list));
    return {};
  }

  // Groups are runs of equal length, and must remain so.
  Status check_groups(u64 groups, const std::vector<u64>& list) const {
    if (list.empty() || experts_ % groups != 0) return {};
    std::vector<u64> left(static_cast<std::size_t>(groups), 0);
    for (const u64 expert : list) ++left[static_cast<std::size_t>(expert / (experts_ / groups))];
    if (std::ranges::all_of(left, [&](u64 number) { return number == left.front() && number > 1; })) return {};
    return refuse(fmt::format("experts are in {} groups of {}: keep the same number of each group, at least 2", groups,
                              experts_ / groups),
                  counts_.key("expert_group_count"));
  }

  // Checks that the remaining experts' weights stay the same for every token that chose none of the dropped ones.
  Status check_weights() {
    const u64 groups = count_of(model_, counts_.key("expert_group_count"));
    const u64 used_groups = count_of(model_, counts_.key("expert_group_used_count"));
    if (groups > 1 && used_groups < groups) {
      return refuse("groups are chosen by their best experts, so another group may win; --force drops them anyway",
                    counts_.key("expert_group_count"));
    }
    if (family_->renormalises_experts) return {};
    const gguf::OutKey* gating = model_.find_key(counts_.key("expert_gating_func"));
    if (gating != nullptr && gguf::elements_of(*gating).number(0).value_or(softmax_gating) > softmax_gating) return {};
    const gguf::OutKey* norm = model_.find_key(counts_.key("expert_weights_norm"));
    if (norm != nullptr && gguf::elements_of(*norm).number(0) == u64{1}) return {};
    return refuse(
        "expert weights are normalised over all experts, so the remaining ones would weigh more; --force drops them "
        "anyway",
        counts_.key("expert_weights_norm"));
  }

  // Returns the dimension that counts experts in a tensor of this name, or nullopt if it has none.
  std::optional<std::size_t> dimension_of_experts(const arch::Names& names, const EditedTensor& tensor) const {
    constexpr std::string_view suffixes[] = {".scale", ".input_scale"};
    for (const std::string_view suffix : suffixes) {
      const std::string& name = tensor.out.name;
      if (!name.ends_with(suffix)) continue;
      const std::string weight = name.substr(0, name.size() - suffix.size()) + ".weight";
      const arch::Names::Place place = names.find_gguf(weight);
      const bool counts = place.row != nullptr && ends_with_experts(place.row->ne);
      return counts && tensor.out.ne == std::vector<u64>{experts_} ? std::optional<std::size_t>(0) : std::nullopt;
    }
    const arch::Names::Place place = names.find_gguf(tensor.out.name);
    if (place.row == nullptr || !ends_with_experts(place.row->ne)) return std::nullopt;
    return tensor.out.ne.empty() ? 0 : tensor.out.ne.size() - 1;
  }
  static bool ends_with_experts(std::string_view ne) {
    const std::vector<std::string_view> all = arch::dimensions_of(ne);
    return !all.empty() && all.back() == arch::symbol::experts;
  }

  Status cut_tensor(const arch::Names& names, EditedTensor& tensor) {
    const auto dimension = dimension_of_experts(names, tensor);
    if (!dimension) return {};
    std::vector<u64>& ne = tensor.out.ne;
    const std::string where = at_tensor(tensor.out.name);
    if (ne.empty() || ne[*dimension] != experts_ || tensor.bytes % experts_ != 0 || !tensor.slices.empty()) {
      return input_error("edit-experts",
                         fmt::format("{}: is not made of {} experts of equal size", operation_.where(), experts_),
                         where);
    }
    const std::vector<u64>& kept = kept_in(arch::block_of(tensor.out.name).value_or(0));
    if (kept.empty()) {
      return input_error("edit-experts", operation_.where() + ": no list names the experts to keep in this layer",
                         where);
    }
    const u64 size = tensor.bytes / experts_;
    for (const u64 expert : kept) {
      if (!tensor.slices.empty() && tensor.slices.back().from + tensor.slices.back().size == expert * size) {
        tensor.slices.back().size += size;
      } else {
        tensor.slices.push_back({expert * size, size});
      }
    }
    ne[*dimension] = kept.size();
    tensor.bytes = size * kept.size();
    is_cut_ = true;
    return {};
  }

  void change_keys() {
    const auto kept = static_cast<u32>(kept_);
    *model_.find_key(counts_.key("expert_count")) = gguf::make_key(counts_.key("expert_count"), kept);
    // The size label contains the expert count, as in "8x7B".
    gguf::OutKey* label = model_.find_key("general.size_label");
    const auto text = label == nullptr ? std::nullopt : gguf::elements_of(*label).text();
    const std::string counted_before = fmt::format("{}x", experts_);
    if (!text || !text->starts_with(counted_before)) return;
    *label = gguf::make_key_string(label->key, fmt::format("{}x{}", kept_, text->substr(counted_before.size())));
  }

  EditedModel& model_;
  const EditOperation& operation_;
  bool force_;
  BlockCounts counts_;
  const arch::Family* family_ = nullptr;
  u64 experts_ = 0;
  u64 kept_ = 0;
  bool is_cut_ = false;
  std::vector<u64> for_all_;
  std::map<u64, std::vector<u64>> by_layer_;
};

}  // namespace

Status keep_experts(EditedModel& model, const EditOperation& operation, bool force) {
  return ExpertCut(model, operation, force).cut();
}

}  // namespace modelutils::edit

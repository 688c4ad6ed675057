#include "pytorch/tensor_names.h"

#include <fmt/core.h>

#include <array>
#include <unordered_map>

namespace modelutils::pytorch {

namespace {

constexpr std::size_t max_depth = 100;

/// A container that is being walked: where in it we are, and how long the path to it is.
struct Level {
  ValueId container;
  std::size_t next = 0;
  std::size_t path_size = 0;
};

class Walk {
 public:
  Walk(const PickleMachine& machine, FindingLog& findings)
      : machine_(machine), values_(machine.values()), findings_(findings) {}

  std::vector<NamedTensor> run() {
    visit(machine_.root());
    while (!levels_.empty()) {
      Level& level = levels_.back();
      const std::span<const ValueId> items = values_.items(level.container);
      path_.resize(level.path_size);
      const bool is_dict = values_.is(level.container, ValueKind::dict);
      if (level.next >= items.size()) {
        levels_.pop_back();
        continue;
      }
      const std::size_t at = level.next;
      level.next += is_dict ? 2 : 1;
      if (is_dict ? add_key(items[at]) : add_text(std::to_string(at))) visit(items[is_dict ? at + 1 : at]);
    }
    return std::move(tensors_);
  }

 private:
  bool add_text(std::string_view text) {
    if (!path_.empty() || levels_.size() > 1) path_ += '.';
    path_ += text;
    return true;
  }

  bool add_key(ValueId key) {
    if (values_.is(key, ValueKind::text)) return add_text(values_.text(key));
    if (values_.is(key, ValueKind::integer)) return add_text(std::to_string(values_[key].number));
    return false;
  }

  void visit(ValueId id) {
    const Value& value = values_[id];
    if (value.kind == ValueKind::tensor) {
      const auto tensor = static_cast<std::size_t>(value.number);
      const auto [known, is_new] = by_name_.emplace(path_, tensors_.size());
      if (is_new) {
        tensors_.push_back({path_, tensor});
      } else {
        tensors_[known->second].tensor = tensor;
      }
      return;
    }
    if (value.kind != ValueKind::dict && value.kind != ValueKind::list && value.kind != ValueKind::tuple) return;
    if (!seen_.emplace(id, true).second) return;
    if (levels_.size() == max_depth) {
      if (!too_deep_) {
        findings_.error(
            Scope::container, "pt-limit",
            fmt::format("values are nested more than {} levels deep; tensors below are not listed", max_depth));
      }
      too_deep_ = true;
      return;
    }
    levels_.push_back({id, 0, path_.size()});
  }

  const PickleMachine& machine_;
  const Values& values_;
  FindingLog& findings_;
  std::string path_;
  std::vector<Level> levels_;
  std::unordered_map<ValueId, bool> seen_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::vector<NamedTensor> tensors_;
  bool too_deep_ = false;
};

}  // namespace

std::vector<NamedTensor> named_tensors(const PickleMachine& machine, FindingLog& findings) {
  return Walk(machine, findings).run();
}

std::string wrapper_key(const PickleMachine& machine) {
  const Values& values = machine.values();
  if (!values.is(machine.root(), ValueKind::dict)) return {};
  // Weights beside the key are the weights: "model.…" is then only the beginning of their names.
  const std::span<const ValueId> entries = values.items(machine.root());
  for (std::size_t i = 1; i < entries.size(); i += 2) {
    if (values.is(entries[i], ValueKind::tensor)) return {};
  }
  for (const std::string_view key : {"state_dict", "model", "module"}) {
    const ValueId* inner = values.find(machine.root(), key);
    if (inner == nullptr || !values.is(*inner, ValueKind::dict)) continue;
    const std::span<const ValueId> below = values.items(*inner);
    for (std::size_t i = 1; i < below.size(); i += 2) {
      if (values.is(below[i], ValueKind::tensor)) return std::string(key);
    }
  }
  return {};
}

}  // namespace modelutils::pytorch

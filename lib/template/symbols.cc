#include "template/symbols.h"

#include <unordered_set>

namespace modelutils::jinja {

void Symbols::change(std::string_view name, const State& state) {
  State& now = states_[name];
  if (!branch_begins_.empty()) undo_.emplace_back(name, now);
  now = state;
}

std::pair<const Symbols*, const Symbols::State*> Symbols::find_function(std::string_view name) const {
  for (const Symbols* symbols = this; symbols != nullptr; symbols = symbols->parent_) {
    const auto found = symbols->states_.find(name);
    if (found != symbols->states_.end() && found->second.is_known) return {symbols, &found->second};
  }
  return {nullptr, nullptr};
}

void Symbols::load(std::string_view name) {
  if (knows(name)) return;
  change(name, {true, false, SlotLoad::From::context, false});
}

void Symbols::store(std::string_view name) {
  State state = states_[name];
  if (!state.is_known) {
    state.is_known = true;
    const bool is_outside = parent_ != nullptr && parent_->knows(name);
    state.from = is_outside ? SlotLoad::From::outer : SlotLoad::From::nothing;
  }
  state.is_stored = true;
  change(name, state);
}

u32 Symbols::declare_parameter(std::string_view name) {
  change(name, {true, true, SlotLoad::From::nothing, true});
  return find(name, function_).index;
}

void Symbols::begin_branches() {
  branches_.emplace_back();
}

void Symbols::begin_branch() {
  branch_begins_.push_back(undo_.size());
}

void Symbols::end_branch() {
  const std::size_t begin = branch_begins_.back();
  branch_begins_.pop_back();
  Branches& branches = branches_.back();
  ++branches.count;
  // Record each changed name once, with its state at the branch's end; then restore the state from before the branch.
  std::unordered_set<std::string_view> seen;
  for (std::size_t i = begin; i < undo_.size(); ++i) {
    const std::string_view name = undo_[i].first;
    if (seen.insert(name).second) branches.changes.emplace_back(name, states_[name]);
  }
  while (undo_.size() > begin) {
    states_[undo_.back().first] = undo_.back().second;
    undo_.pop_back();
  }
}

void Symbols::end_branches() {
  const Branches branches = std::move(branches_.back());
  branches_.pop_back();
  std::unordered_map<std::string_view, std::size_t> stores;
  for (const auto& [name, state] : branches.changes) {
    if (state.is_stored && !states_[name].is_stored) ++stores[name];
  }
  for (const auto& [name, state] : branches.changes) {
    State merged = state;
    const auto count = stores.find(name);
    if (count != stores.end()) {
      merged.is_stored = true;
      if (count->second < branches.count) {
        const bool is_outside = parent_ != nullptr && parent_->knows(name);
        merged.from = is_outside ? SlotLoad::From::outer : SlotLoad::From::context;
      }
    }
    change(name, merged);
  }
}

Slot Symbols::find(std::string_view name, const FunctionScope& function) const {
  const auto [symbols, state] = find_function(name);
  FunctionScope& owner = symbols->function_;
  const auto [place, is_new] = owner.slots.emplace(std::pair(symbols->level_, name), owner.body->slots);
  if (is_new) ++owner.body->slots;
  Slot slot;
  slot.index = place->second;
  for (const FunctionScope* from = &function; from != &owner; from = from->parent) ++slot.hops;
  return slot;
}

FrameLoads Symbols::loads() const {
  FrameLoads loads;
  for (const auto& [name, state] : states_) {
    if (!state.is_known) continue;
    if (state.is_parameter) {
      loads.parameters.push_back(find(name, function_).index);
      continue;
    }
    SlotLoad load;
    load.from = state.from;
    load.index = find(name, function_).index;
    load.name = name;
    if (load.from == SlotLoad::From::outer) load.outer = parent_->find(name, function_);
    loads.loads.push_back(load);
  }
  return loads;
}

}  // namespace modelutils::jinja

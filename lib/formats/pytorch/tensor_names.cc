// Derives tensor names in a checkpoint: the keys from the root, joined by '.'.
#include "formats/pytorch/resolve.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "base/text.h"
#include "base/types.h"

namespace modelutils::pytorch {

namespace {

constexpr std::size_t max_depth = 100;
// Memory limit for the list of tensors: a fixed amount plus a multiple of the file's size. In valid files, the list
// takes a few times the size of the pickle.
constexpr u64 free_list_bytes = u64{4} << 20, list_bytes_per_file_byte = 16;
constexpr u64 bytes_per_entry = 8, bytes_per_tensor = 160, bytes_per_dim = 16;

/// A container on the path of the walk, the next item in it, and the length of its path.
struct Level {
  ValueId container;
  std::size_t next = 0;
  std::size_t path_size = 0;
  bool has_object_keys = false;
};

bool is_container(ValueKind kind) {
  return kind == ValueKind::dict || kind == ValueKind::list || kind == ValueKind::tuple;
}

bool is_name(ValueKind kind) {
  return kind == ValueKind::text || kind == ValueKind::integer;
}

/// Visits all paths from the root.
class Walk {
 public:
  Walk(const PickleMachine& machine, u64 file_size, FindingLog& findings)
      : machine_(machine),
        values_(machine.values()),
        findings_(findings),
        budget_(checked_add(checked_mul(file_size, list_bytes_per_file_byte).value_or(file_size), free_list_bytes)
                    .value_or(file_size)),
        on_path_(values_.size()),
        is_named_(machine.tensors().size()) {}

  void run() {
    visit(machine_.root());
    while (!levels_.empty() && !exhausted_) {
      Level& level = levels_.back();
      const std::span<const ValueId> items = values_.items(level.container);
      path_.resize(level.path_size);
      if (level.next >= items.size()) {
        on_path_[level.container] = false;
        object_keys_ -= level.has_object_keys ? 1 : 0;
        levels_.pop_back();
        continue;
      }
      const bool is_dict = values_.is(level.container, ValueKind::dict);
      const std::size_t at = level.next;
      level.next += is_dict ? 2 : 1;
      const ValueId item = items[is_dict ? at + 1 : at];
      const ValueKind kind = values_[item].kind;
      if (!charge(bytes_per_entry) || (kind != ValueKind::tensor && !is_container(kind))) continue;
      if (is_dict ? add_key(items[at]) : add_text(std::to_string(at))) visit(item);
    }
  }

  std::vector<NamedTensor> take_tensors() { return std::move(tensors_); }
  const std::vector<bool>& is_named() const { return is_named_; }
  bool exhausted() const { return exhausted_; }

 private:
  /// Returns false if the list's memory or time limit is exceeded.
  bool charge(u64 bytes) {
    if (bytes <= budget_) {
      budget_ -= bytes;
      return true;
    }
    if (!exhausted_) {
      findings_.error(Scope::container, "pt-limit",
                      "the names of its tensors take far more space than the file: it repeats containers or keys");
    }
    exhausted_ = true;
    return false;
  }

  bool add_text(std::string_view text) {
    if (!charge(text.size())) return false;
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
    if (value.kind == ValueKind::tensor) return name(static_cast<std::size_t>(value.number));
    if (!is_container(value.kind) || on_path_[id]) return;
    if (levels_.size() == max_depth) {
      if (!too_deep_) {
        findings_.error(
            Scope::container, "pt-limit",
            fmt::format("values are nested more than {} levels deep; tensors below are not listed", max_depth));
      }
      too_deep_ = true;
      return;
    }
    Level level{id, 0, path_.size(), value.kind == ValueKind::dict && has_object_keys(id)};
    object_keys_ += level.has_object_keys ? 1 : 0;
    on_path_[id] = true;
    levels_.push_back(level);
  }

  void name(std::size_t tensor) {
    const u64 dims = values_.items(machine_.tensors()[tensor].shape).size();
    if (!charge(path_.size() + bytes_per_tensor + dims * bytes_per_dim)) return;
    if (object_keys_ > 0) {
      findings_.error(Scope::container, "pt-same-name",
                      "is below a dict with objects as keys, which can equal its other keys and replace their tensors",
                      at_tensor(path_));
    }
    is_named_[tensor] = true;
    const auto [known, is_new] = by_name_.emplace(path_, tensors_.size());
    if (is_new) {
      tensors_.push_back({path_, tensor});
    } else if (tensors_[known->second].tensor != tensor) {
      findings_.error(Scope::container, "pt-same-name", "is the name of two tensors", at_tensor(path_));
    }
  }

  /// True if a dict mixes names and object keys: NumPy scalars and complex numbers may equal Python's texts and
  /// numbers.
  bool has_object_keys(ValueId dict) const {
    const std::span<const ValueId> entries = values_.items(dict);
    bool has_objects = false, has_names = false;
    for (std::size_t i = 0; i < entries.size(); i += 2) {
      has_objects = has_objects || values_.is(entries[i], ValueKind::object);
      has_names = has_names || is_name(values_[entries[i]].kind);
    }
    return has_objects && has_names;
  }

  const PickleMachine& machine_;
  const Values& values_;
  FindingLog& findings_;
  u64 budget_;
  std::string path_;
  std::vector<Level> levels_;
  std::vector<bool> on_path_;
  std::vector<bool> is_named_;
  std::unordered_map<std::string, std::size_t> by_name_;
  std::vector<NamedTensor> tensors_;
  std::size_t object_keys_ = 0;  // levels that have object keys
  bool too_deep_ = false;
  bool exhausted_ = false;
};

/// Visits every value below the root once, also by edges that do not contribute to names.
class Unnamed {
 public:
  Unnamed(const PickleMachine& machine, const std::vector<bool>& is_named)
      : machine_(machine), values_(machine.values()), is_named_(is_named), seen_(values_.size()) {
    for (std::size_t i = 0; i < is_named.size(); ++i) {
      if (is_named[i]) seen_[machine.tensors()[i].storage] = true;  // its elements are reachable by name
    }
  }

  void run(FindingLog& findings) {
    add(machine_.root(), Place::named);
    while (!stack_.empty()) {
      const Step step = stack_.back();
      stack_.pop_back();
      visit(step);
    }
    if (tensors_ > 0) {
      findings.warning(Scope::container, "pt-unnamed",
                       fmt::format("{} {} no name; {} {}", counted(tensors_, "tensor"), verb(tensors_, "has", "have"),
                                   verb(tensors_, "it is", "one of them is"), place()));
    }
    if (storages_ > 0) {
      findings.warning(Scope::container, "pt-unnamed",
                       fmt::format("{} {} to no tensor and {} no name", counted(storages_, "storage"),
                                   verb(storages_, "belongs", "belong"), verb(storages_, "has", "have")));
    }
  }

 private:
  enum class Place : u8 { named, key, below_key, set, attribute };
  struct Step {
    ValueId id;
    Place place;
    ValueKind key = ValueKind::none;
  };

  void add(ValueId id, Place place, ValueKind key = ValueKind::none) {
    if (seen_[id]) return;
    seen_[id] = true;
    stack_.push_back({id, place, key});
  }

  void visit(const Step& step) {
    const Value& value = values_[step.id];
    if (value.kind == ValueKind::tensor && !is_named_[static_cast<std::size_t>(value.number)]) {
      if (tensors_++ == 0) example_ = step;
    }
    if (value.kind == ValueKind::storage) ++storages_;
    if (value.kind == ValueKind::dict) {
      const std::span<const ValueId> entries = values_.items(step.id);
      for (std::size_t i = 0; i < entries.size(); i += 2) {
        const ValueKind key = values_[entries[i]].kind;
        add(entries[i], Place::key);
        add(entries[i + 1], is_name(key) ? step.place : Place::below_key, is_name(key) ? step.key : key);
      }
    } else if (is_container(value.kind) || value.kind == ValueKind::set) {
      const Place place = value.kind == ValueKind::set ? Place::set : step.place;
      for (const ValueId item : values_.items(step.id)) add(item, place, step.key);
    }
    const std::vector<Attachment>& attached = machine_.attachments();
    for (auto each = std::ranges::lower_bound(attached, step.id, {}, &Attachment::to);
         each != attached.end() && each->to == step.id; ++each) {
      add(each->value, Place::attribute);
    }
  }

  std::string place() const {
    switch (example_.place) {
      case Place::key: return "the key of a dict";
      case Place::below_key:
        return fmt::format("below a key that is {}, not a text or number", kind_name(example_.key));
      case Place::set: return "in a set";
      case Place::attribute: return "an attribute or argument of an object";
      case Place::named: break;
    }
    return "in a container of itself";
  }

  const PickleMachine& machine_;
  const Values& values_;
  const std::vector<bool>& is_named_;
  std::vector<bool> seen_;
  std::vector<Step> stack_;
  Step example_{};
  u64 tensors_ = 0, storages_ = 0;
};

}  // namespace

std::vector<NamedTensor> named_tensors(const PickleMachine& machine, u64 file_size, FindingLog& findings) {
  Walk walk(machine, file_size, findings);
  walk.run();
  if (!walk.exhausted()) Unnamed(machine, walk.is_named()).run(findings);
  return walk.take_tensors();
}

std::string wrapper_key(const PickleMachine& machine) {
  const Values& values = machine.values();
  if (!values.is(machine.root(), ValueKind::dict)) return {};
  // If there are tensors next to the key, the root holds the weights, and "model." is a part of their names.
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

#include "compare/compare.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "base/types.h"
#include "compare/compared_model.h"

namespace modelutils {

namespace {

Result<ComparedModel> look_at(const std::shared_ptr<const Model>& model, const ComparisonView& view) {
  switch (model->format) {
    case Format::gguf: return compared_gguf(model, view);
    case Format::bump: return compared_bump(model, view);
    case Format::bump4:
    case Format::bump5: return compared_bump5(model, view);
    case Format::mlx:
    case Format::pytorch:
    case Format::safetensors: return compared_directory(model, view);
    case Format::imatrix: break;  // refused before
  }
  return internal_error("a format that cannot be compared");
}

KeyKind kind_of(const Model& model) {
  switch (model.format) {
    case Format::gguf: return KeyKind::gguf;
    case Format::bump:
    case Format::bump4:
    case Format::bump5: return KeyKind::bump;
    case Format::mlx:
    case Format::pytorch:
    case Format::safetensors:
    case Format::imatrix: break;
  }
  return KeyKind::directory;
}

// Two models of one kind keep their names, unless exactly one is an MLX directory: MLX stacks experts.
Naming naming_for(const Model& a, const Model& b) {
  if (kind_of(a) != kind_of(b)) return Naming::gguf;
  if (kind_of(a) != KeyKind::directory) return Naming::own;
  return is_mlx(*a.safetensors) == is_mlx(*b.safetensors) ? Naming::own : Naming::gguf;
}

std::string range_text(const std::optional<Range>& range) {
  if (!range) return {};
  return range->low == range->high ? thousands(range->low) : fmt::format("{}–{}", range->low, range->high);
}

std::string number_text(std::optional<u64> number) {
  return number ? thousands(*number) : std::string();
}

class Comparison {
 public:
  Comparison(Model a, Model b, const CompareOptions& options)
      : a_(std::make_shared<const Model>(std::move(a))),
        b_(std::make_shared<const Model>(std::move(b))),
        options_(options) {}

  Result<std::unique_ptr<ModelDiff>> compare() {
    MU_TRY(look());
    diff_.max_rms = options_.max_rms;
    compare_facts();
    MU_TRY(compare_keys());
    diff_.tensors = compare_tensors(*diff_.a.tensors, *diff_.b.tensors, options_.ignored_tensors);
    if (options_.layout) compare_layout();
    diff_.values_compared = options_.data || options_.max_rms || (!options_.quick && is_cheap());
    if (diff_.values_compared) measure_values();
    return std::move(result_);
  }

 private:
  Status look() {
    for (const auto& model : {a_, b_}) {
      if (!model->importance) continue;
      return input_error(
          "diff-importance",
          "is an importance matrix in the older .dat format; convert it to GGUF first (gguf-edit -o NAME.gguf)", {}, {},
          model->path());
    }
    ComparisonView view;
    view.naming = naming_for(*a_, *b_);
    view.layout = options_.layout;
    view.image = image_layout_of(*a_) && image_layout_of(*b_);
    view.apart = !view.image && (kind_of(*a_) == KeyKind::directory || kind_of(*b_) == KeyKind::directory);
    view.tokenizer = kind_of(*a_) != KeyKind::bump && kind_of(*b_) != KeyKind::bump;
    MU_ASSIGN(diff_.a, look_at(a_, view));
    MU_ASSIGN(diff_.b, look_at(b_, view));
    const bool is_mixed = diff_.a.naming != diff_.b.naming;
    if (is_mixed && kind_of(*a_) == KeyKind::directory && kind_of(*b_) == KeyKind::directory) {
      // Only one side can be mapped to GGUF names, so both keep their own.
      for (const ComparedModel* side : {&diff_.a, &diff_.b}) add_remarks(*side);
      view.naming = Naming::own;
      MU_ASSIGN(diff_.a, look_at(a_, view));
      MU_ASSIGN(diff_.b, look_at(b_, view));
    }
    for (const ComparedModel* side : {&diff_.a, &diff_.b}) add_remarks(*side);
    take_adapters();
    return {};
  }

  // Adapters are equal if their products are equal, whatever the factors.
  void take_adapters() {
    if (!is_adapter(*a_) || !is_adapter(*b_)) return;
    if (kind_of(*a_) != kind_of(*b_)) {
      diff_.remarks.push_back(
          "a GGUF adapter and an adapter directory name their tensors differently; convert one of them first (mlx2gguf "
          "or gguf2mlx with --base)");
      return;
    }
    ComparedModel a = diff_.a;
    ComparedModel b = diff_.b;
    Status taken = take_products(*a_, a);
    if (taken) taken = take_products(*b_, b);
    if (!taken) {
      diff_.remarks.push_back("factors are compared, not their products: " + placed_message(taken.error()));
      return;
    }
    diff_.a = std::move(a);
    diff_.b = std::move(b);
  }

  void add_remarks(const ComparedModel& side) {
    for (const std::string& remark : side.remarks) diff_.remarks.push_back(side.path + ": " + remark);
  }

  void fact(std::string_view name, std::string a, std::string b, bool counts) {
    if (a.empty() || b.empty() || a == b) return;
    diff_.identity.push_back({std::string(name), std::move(a), std::move(b), counts});
  }

  void compare_facts() {
    const ModelFacts& a = diff_.a.facts;
    const ModelFacts& b = diff_.b.facts;
    const bool same_kind = diff_.a.key_kind == diff_.b.key_kind;
    fact("format", diff_.a.kind, diff_.b.kind, false);
    if (!same_kind) {  // for models of the same kind, the keys show these differences
      fact("architecture", a.architecture, b.architecture, true);
      fact("layers", number_text(a.layers), number_text(b.layers), true);
      fact("context", number_text(a.context), number_text(b.context), true);
      fact("embedding", number_text(a.embedding), number_text(b.embedding), true);
      fact("feed forward", range_text(a.feed_forward), range_text(b.feed_forward), true);
      fact("heads", range_text(a.heads), range_text(b.heads), true);
      fact("KV heads", range_text(a.heads_kv), range_text(b.heads_kv), true);
      fact("head size", number_text(a.head_dim), number_text(b.head_dim), true);
      fact("experts", number_text(a.experts), number_text(b.experts), true);
      fact("experts used", number_text(a.experts_used), number_text(b.experts_used), true);
      diff_.remarks.push_back("keys are not compared: they are of different formats");
    }
    if (!a.architecture.empty() && !b.architecture.empty() && a.architecture != b.architecture) {
      diff_.remarks.push_back(
          fmt::format("different families, '{}' and '{}': only tensors of the same name are compared", a.architecture,
                      b.architecture));
    }
    if (!same_kind) return;
    fact("parameters", number_text(a.parameters), number_text(b.parameters), false);
    fact("bytes of tensors", number_text(a.tensor_bytes), number_text(b.tensor_bytes), false);
    const auto bits = [](std::optional<double> number) { return number ? bits_text(*number) : std::string(); };
    fact("bits per weight", bits(a.bits_per_weight), bits(b.bits_per_weight), false);
  }

  Status compare_keys() {
    diff_.has_keys = diff_.a.key_kind == diff_.b.key_kind;
    if (diff_.has_keys) {
      MU_ASSIGN(diff_.keys, modelutils::compare_keys(diff_.a.keys, diff_.b.keys, options_.ignored_keys));
    }
    // Report a missing tokenizer only if the model's format could hold one and it was readable.
    const auto may_have = [](const ComparedModel& side) {
      return side.has_tokenizer || side.key_kind == KeyKind::gguf;
    };
    diff_.has_tokenizer = may_have(diff_.a) && may_have(diff_.b);
    if (diff_.has_tokenizer) {
      MU_ASSIGN(diff_.tokenizer, modelutils::compare_keys(diff_.a.tokenizer, diff_.b.tokenizer, options_.ignored_keys));
    }
    return {};
  }

  void compare_layout() {
    for (const LayoutFact& a : diff_.a.layout) {
      const auto b = std::ranges::find(diff_.b.layout, a.name, &LayoutFact::name);
      if (b == diff_.b.layout.end() || a.value == b->value) continue;
      const bool is_order = a.name.starts_with("order");
      diff_.layout.push_back({a.name, is_order ? std::string() : a.value, is_order ? std::string() : b->value});
    }
    for (const TensorPair& pair : diff_.tensors.same_shape) {
      std::string a = diff_.a.tensors->place_text(*pair.a);
      std::string b = diff_.b.tensors->place_text(*pair.b);
      if (a != b) diff_.layout.push_back({std::string(pair.a->name), std::move(a), std::move(b)});
    }
  }

  // Returns why the values of a pair cannot be compared; empty if they can.
  std::string_view problem(const TensorPair& pair) const {
    const std::string_view of_a = diff_.a.tensors->problem(*pair.a);
    return of_a.empty() ? diff_.b.tensors->problem(*pair.b) : of_a;
  }

  // True if comparing the values takes no noticeable time and only the values can distinguish the models.
  bool is_cheap() const {
    constexpr u64 most_bytes = u64{256} << 20;
    if (!diff_.tensors.are_alike()) return false;
    u64 bytes = 0;
    for (const TensorPair& pair : diff_.tensors.same_shape) {
      if (!problem(pair).empty()) return false;
      bytes = checked_add(bytes, pair.a->bytes).value_or(most_bytes + 1);
      if (bytes > most_bytes) return false;
    }
    return true;
  }

  void measure_values() {
    const std::vector<TensorPair>& all = diff_.tensors.same_shape;
    std::vector<std::size_t> places;
    diff_.measured.resize(all.size());
    u64 bytes = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const TensorPair& pair = all[i];
      if (!problem(pair).empty()) {
        Measurement unknown;
        unknown.problem = problem(pair);
        diff_.measured.set(i, std::move(unknown));
        continue;
      }
      places.push_back(i);
      bytes += pair.a->bytes + pair.b->bytes;
    }
    if (options_.progress != nullptr) options_.progress->restart("comparing", bytes);
    const auto pair_of = [&](std::size_t i) {
      const TensorPair& pair = all[places[i]];
      return ValuePair{diff_.a.tensors->values(*pair.a), diff_.b.tensors->values(*pair.b),
                       pair.a->ne.empty() ? 1 : pair.a->ne.front()};
    };
    measure(places.size(), pair_of, {options_.threads, options_.progress},
            [&](std::size_t i, Measurement measured) { diff_.measured.set(places[i], std::move(measured)); });
  }

  std::shared_ptr<const Model> a_, b_;
  const CompareOptions& options_;
  std::unique_ptr<ModelDiff> result_ = std::make_unique<ModelDiff>();
  ModelDiff& diff_ = *result_;
};

}  // namespace

std::vector<TensorChange> ModelDiff::changed_values() const {
  std::vector<TensorChange> changes;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!measured[i].equal_values()) changes.push_back({tensors.same_shape[i], &measured[i]});
  }
  return changes;
}

bool ModelDiff::is_within(const Measurement& one) const {
  if (one.equal_values()) return true;
  return max_rms && one.decoded && one.sums.unordered == 0 && one.sums.rms() <= *max_rms;
}

bool ModelDiff::equal() const {
  const auto counts = [](const FactChange& fact) { return fact.counts; };
  if (std::ranges::any_of(identity, counts)) return false;
  if (keys.size() + tokenizer.size() + layout.size() > 0) return false;
  if (tensors.added.size() + tensors.removed.size() + tensors.reshaped.size() > 0) return false;
  if (types_count() && tensors.retyped > 0) return false;
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (!is_within(measured[i])) return false;
  }
  return true;
}

std::optional<Finding> ModelDiff::values_left_out() const {
  if (values_compared || !tensors.are_alike() || tensors.same_shape.empty()) return std::nullopt;
  FindingLog log;
  log.note(Scope::data, "diff-values",
           fmt::format("{}the values of {} were not compared; --data compares them",
                       equal() ? "headers are equal; " : "", counted(tensors.same_shape.size(), "tensor")));
  return log[0];
}

const Error* ModelDiff::read_error() const {
  for (std::size_t i = 0; i < measured.size(); ++i) {
    if (measured[i].error) return measured[i].error.get();
  }
  return nullptr;
}

Result<std::unique_ptr<ModelDiff>> compare_models(Model a, Model b, const CompareOptions& options) {
  return Comparison(std::move(a), std::move(b), options).compare();
}

}  // namespace modelutils

#include "report/model_diff.h"

#include <fmt/core.h>

#include "base/escape.h"
#include "base/text.h"
#include "json/writer.h"
#include "report/diff_parts.h"
#include "report/key_text.h"

namespace modelutils {

namespace {

class DiffCsv {
 public:
  DiffCsv(TextOutput& out, const ModelDiff& diff) : out_(out), diff_(diff) {}

  Status write() {
    out_ << "section,change,name,a,b,rms,max_abs,cosine,different,not_finite\n";
    for (const FactChange& fact : diff_.identity) row("identity", "changed", fact.name, fact.a, fact.b);
    MU_TRY(write_keys("keys", diff_.keys));
    MU_TRY(write_keys("tokenizer", diff_.tokenizer));
    write_tensors();
    write_values();
    for (const LayoutChange& change : diff_.layout) row("layout", "changed", change.name, change.a, change.b);
    return {};
  }

 private:
  void row(std::string_view section, std::string_view change, std::string_view name, std::string_view a,
           std::string_view b, std::string_view numbers = ",,,,") {
    out_ << fmt::format("{},{},{},{},{},{}\n", section, change, csv_field(name), csv_field(a), csv_field(b), numbers);
  }

  // Returns scalars and strings verbatim, and for arrays the changed part.
  static Result<std::string> value_of(const ListedKey& key) {
    if (const auto* text = std::get_if<std::string_view>(&key.value)) return std::string(*text);
    return key_value_text(key);
  }

  Status write_keys(std::string_view section, const KeyChanges& keys) {
    for (const KeyChange& change : keys.changed) {
      MU_ASSIGN(const std::string a, value_of(*change.a));
      MU_ASSIGN(const std::string b, value_of(*change.b));
      row(section, "changed", change.a->name, a, b);
    }
    for (const ListedKey* key : keys.removed) {
      MU_ASSIGN(const std::string a, value_of(*key));
      row(section, "removed", key->name, a, "");
    }
    for (const ListedKey* key : keys.added) {
      MU_ASSIGN(const std::string b, value_of(*key));
      row(section, "added", key->name, "", b);
    }
    return {};
  }

  static std::string described(const ComparedModel& side, const Tensor& tensor) {
    std::string text = side.tensors->type_text(tensor) + " ";
    for (std::size_t i = 0; i < tensor.ne.size(); ++i) text += (i == 0 ? "" : "x") + std::to_string(tensor.ne[i]);
    return text;
  }

  void write_tensors() {
    const TensorChanges& tensors = diff_.tensors;
    for (const TensorPair& pair : tensors.reshaped) {
      row("tensors", "reshaped", pair.a->name, described(diff_.a, *pair.a), described(diff_.b, *pair.b));
    }
    for (const Tensor* tensor : tensors.removed) {
      row("tensors", "removed", tensor->name, described(diff_.a, *tensor), "");
    }
    for (const Tensor* tensor : tensors.added) {
      row("tensors", "added", tensor->name, "", described(diff_.b, *tensor));
    }
    for (const TensorPair& pair : tensors.same_shape) {
      if (pair.is_retyped) row("types", "retyped", pair.a->name, type_of_a(pair), type_of_b(pair));
    }
  }

  std::string type_of_a(const TensorPair& pair) const { return diff_.a.tensors->type_text(*pair.a); }
  std::string type_of_b(const TensorPair& pair) const { return diff_.b.tensors->type_text(*pair.b); }

  void write_values() {
    for (std::size_t i = 0; i < diff_.measured.size(); ++i) {
      const Measurement& one = diff_.measured[i];
      const TensorPair& pair = diff_.tensors.same_shape[i];
      if (one.equal_values()) continue;
      if (!one.problem.empty()) {
        row("values", "unreadable", pair.a->name, one.problem, "");
        continue;
      }
      const auto number = [](double value) { return float_text(value); };
      row("values", "changed", pair.a->name, type_of_a(pair), type_of_b(pair),
          fmt::format("{},{},{},{},{}", number(one.sums.rms()), number(one.sums.max_abs), number(one.sums.cosine()),
                      one.sums.different, one.sums.unordered));
    }
  }

  TextOutput& out_;
  const ModelDiff& diff_;
};

}  // namespace

Status write_diff_csv(TextOutput& out, const ModelDiff& diff) {
  return DiffCsv(out, diff).write();
}

namespace {

// Longer arrays are written as their length; the ranges show the differences.
constexpr u64 most_elements = 1024;

class DiffJson {
 public:
  DiffJson(TextOutput& out, const ModelDiff& diff)
      : diff_(diff), json_(json::Writer::Style::compact, [&out](std::string_view text) { out << text; }) {}

  Status write() {
    {
      const auto in_object = json_.object();
      json_.member("schema", std::string_view("model-diff/1"));
      json_.member("a", diff_.a.path);
      json_.member("b", diff_.b.path);
      json_.member("equal", diff_.equal());
      json_.member("values_compared", diff_.values_compared);
      write_identity();
      json_.key("keys");
      MU_TRY(write_keys(diff_.keys, diff_.has_keys));
      json_.key("tokenizer");
      MU_TRY(write_keys(diff_.tokenizer, diff_.has_tokenizer));
      write_tensors();
      write_layout();
      json_.values("remarks", diff_.remarks);
    }
    json_.end_line();
    json_.flush();
    return {};
  }

 private:
  void write_identity() {
    const auto in_identity = json_.array("identity");
    for (const FactChange& fact : diff_.identity) {
      const auto in_object = json_.object();
      json_.member("fact", fact.name);
      json_.member("a", fact.a);
      json_.member("b", fact.b);
    }
  }

  void write_names(std::string_view member, const std::vector<const ListedKey*>& keys) {
    const auto in_array = json_.array(member);
    for (const ListedKey* key : keys) json_.string(key->name);
  }

  Status write_keys(const KeyChanges& keys, bool compared) {
    const auto in_object = json_.object();
    json_.member("compared", compared);
    write_names("added", keys.added);
    write_names("removed", keys.removed);
    const auto in_changed = json_.array("changed");
    for (const KeyChange& change : keys.changed) {
      const auto in_item = json_.object();
      json_.member("key", change.a->name);
      MU_TRY(write_value("a", *change.a));
      MU_TRY(write_value("b", *change.b));
      if (change.a->type != change.b->type) {
        json_.member("a_type", gguf::value_type_name(change.a->type));
        json_.member("b_type", gguf::value_type_name(change.b->type));
      }
      if (std::holds_alternative<ListedArray>(change.a->value) &&
          std::holds_alternative<ListedArray>(change.b->value)) {
        write_ranges(change);
      }
    }
    return {};
  }

  Status write_value(std::string_view member, const ListedKey& key) {
    json_.key(member);
    const auto* array = std::get_if<ListedArray>(&key.value);
    if (array == nullptr || array->array.count <= most_elements) return write_json_value(json_, key.value);
    const auto in_object = json_.object();
    json_.member("count", array->array.count);
    return {};
  }

  void write_ranges(const KeyChange& change) {
    const auto in_ranges = json_.array("ranges");
    for (const IndexRange& range : change.array.ranges) {
      const auto in_array = json_.array();
      json_.number(range.first);
      json_.number(range.last);
    }
  }

  void write_names(std::string_view member, const std::vector<const Tensor*>& tensors) {
    const auto in_array = json_.array(member);
    for (const Tensor* tensor : tensors) json_.string(tensor->name);
  }

  void write_retyped(const TensorPair& pair) {
    if (!pair.is_retyped) return;
    const auto in_object = json_.object();
    json_.member("name", pair.a->name);
    json_.member("a", diff_.a.tensors->type_text(*pair.a));
    json_.member("b", diff_.b.tensors->type_text(*pair.b));
  }

  void write_tensors() {
    const TensorChanges& tensors = diff_.tensors;
    const auto in_tensors = json_.object("tensors");
    write_names("added", tensors.added);
    write_names("removed", tensors.removed);
    {
      const auto in_reshaped = json_.array("reshaped");
      for (const TensorPair& pair : tensors.reshaped) {
        const auto in_object = json_.object();
        json_.member("name", pair.a->name);
        json_.values("a", pair.a->ne);
        json_.values("b", pair.b->ne);
      }
    }
    {
      const auto in_retyped = json_.array("retyped");
      for (const TensorPair& pair : tensors.reshaped) write_retyped(pair);
      for (const TensorPair& pair : tensors.same_shape) write_retyped(pair);
    }
    {
      const auto in_changed = json_.array("changed");
      for (std::size_t i = 0; i < diff_.measured.size(); ++i) {
        if (!diff_.measured[i].equal_bytes) write_measured(tensors.same_shape[i].a->name, diff_.measured[i]);
      }
    }
    write_totals("by_layer", totals_by_layer(diff_));
    write_totals("by_role", totals_by_role(diff_));
  }

  void write_totals(std::string_view member, const std::vector<ValueTotal>& totals) {
    const auto in_array = json_.array(member);
    for (const ValueTotal& total : totals) {
      if (total.equal == total.tensors) continue;
      const auto in_object = json_.object();
      json_.member("name", total.name);
      json_.member("tensors", total.tensors);
      json_.member("equal", total.equal);
      json_.member("rms", total.sums.rms());
      json_.member("max_abs", total.sums.max_abs);
      json_.member("cosine", total.sums.cosine());
    }
  }

  void write_measured(std::string_view name, const Measurement& measured) {
    const auto in_object = json_.object();
    json_.member("name", name);
    json_.member("equal_values", measured.equal_values());
    if (!measured.problem.empty()) {
      for (const std::string_view member : {"rms", "max_abs", "cosine"}) {
        json_.null_member(member);
      }
      json_.member("problem", measured.problem);
    } else {
      json_.member("rms", measured.sums.rms());
      json_.member("max_abs", measured.sums.max_abs);
      json_.member("cosine", measured.sums.cosine());
      json_.member("different", measured.sums.different);
      json_.member("not_finite", measured.sums.unordered);
      const auto in_worst_rows = json_.array("worst_rows");
      for (const RowError& row : measured.worst) {
        const auto in_item = json_.object();
        json_.member("row", row.row);
        json_.member("rms", row.rms);
      }
    }
  }

  void write_layout() {
    const auto in_layout = json_.array("layout");
    for (const LayoutChange& change : diff_.layout) {
      const auto in_object = json_.object();
      json_.member("name", change.name);
      json_.member("a", change.a);
      json_.member("b", change.b);
    }
  }

  const ModelDiff& diff_;
  json::Writer json_;
};

}  // namespace

Status write_diff_json(TextOutput& out, const ModelDiff& diff) {
  return DiffJson(out, diff).write();
}

}  // namespace modelutils

#include <fmt/core.h>

#include "base/escape.h"
#include "base/numbers.h"
#include "report/diff_parts.h"
#include "report/model_diff.h"

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

  static std::string described(const ComparedTensor& tensor) {
    std::string text = std::string(tensor.type) + " ";
    for (std::size_t i = 0; i < tensor.ne.size(); ++i) text += (i == 0 ? "" : "x") + std::to_string(tensor.ne[i]);
    return text;
  }

  void write_tensors() {
    const TensorChanges& tensors = diff_.tensors;
    for (const TensorPair& pair : tensors.reshaped) {
      row("tensors", "reshaped", pair.a->name, described(*pair.a), described(*pair.b));
    }
    for (const ComparedTensor* tensor : tensors.removed)
      row("tensors", "removed", tensor->name, described(*tensor), "");
    for (const ComparedTensor* tensor : tensors.added) row("tensors", "added", tensor->name, "", described(*tensor));
    for (const TensorPair& pair : tensors.same_shape) {
      if (pair.is_retyped()) row("types", "retyped", pair.a->name, pair.a->type, pair.b->type);
    }
  }

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
      row("values", "changed", pair.a->name, pair.a->type, pair.b->type,
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

}  // namespace modelutils

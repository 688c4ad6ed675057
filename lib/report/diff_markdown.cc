#include <fmt/core.h>

#include "base/counted.h"
#include "base/escape.h"
#include "report/diff_parts.h"
#include "report/markdown_text.h"
#include "report/model_diff.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

class DiffMarkdown {
 public:
  DiffMarkdown(TextOutput& out, const ModelDiff& diff, const DiffOptions& options)
      : out_(out), diff_(diff), options_(options) {}

  Status write() {
    if (diff_.is_silent()) return {};
    out_ << fmt::format("# {} and {}\n", cell(diff_.a.path), cell(diff_.b.path));
    write_identity();
    MU_TRY(write_keys("Keys", diff_.keys));
    MU_TRY(write_keys("Tokenizer", diff_.tokenizer));
    write_tensors();
    write_values();
    write_layout();
    for (const std::string& remark : diff_.remarks) out_ << "\n" << cell(remark) << "\n";
    return {};
  }

 private:
  // Formats raw text for the inside of a cell or a heading.
  static std::string cell(std::string_view text) { return markdown(escape(text)); }

  static std::string markdown(std::string_view printable) { return markdown_text(printable, "\\|`*_[~"); }

  void table(std::string_view title, std::string_view head) {
    out_ << fmt::format("\n## {}\n\n{}\n", title, head);
    std::string line = "|";
    for (const char c : head.substr(1)) {
      if (c == '|') line += ":---|";
    }
    out_ << line << "\n";
  }

  void row(std::string_view change, std::string_view name, std::string_view text) {
    out_ << fmt::format("| {} | {} | {} |\n", change, markdown(name), markdown(text));
  }

  void write_identity() {
    if (diff_.identity.empty()) return;
    table("Identity", "| | A | B |");
    for (const FactChange& fact : diff_.identity) {
      out_ << fmt::format("| {} | {} | {} |\n", fact.name, cell(fact.a), cell(fact.b));
    }
  }

  Status write_keys(std::string_view title, const KeyChanges& keys) {
    if (keys.size() == 0) return {};
    table(title, "| | Key | Value |");
    for (const KeyChange& change : keys.changed) {
      MU_ASSIGN(const std::string text, key_change_text(change, Style(false)));
      row("changed", escape(change.a->name), text);
    }
    for (const ListedKey* key : keys.removed) {
      MU_ASSIGN(const std::string text, key_value_text(*key));
      row("removed", escape(key->name), text);
    }
    for (const ListedKey* key : keys.added) {
      MU_ASSIGN(const std::string text, key_value_text(*key));
      row("added", escape(key->name), text);
    }
    return {};
  }

  void rows(std::string_view change, const TensorGroups& groups) {
    for (const TensorGroup& group : groups.groups()) row(change, group.name, group.text);
  }

  void write_tensors() {
    const TensorChanges& tensors = diff_.tensors;
    if (tensors.added.size() + tensors.removed.size() + tensors.reshaped.size() + tensors.retyped == 0) return;
    table("Tensors", "| | Tensor | Type and shape |");
    TensorGroups reshaped, retyped, removed, added;
    for (const TensorPair& pair : tensors.reshaped) {
      reshaped.add(pair.a->name, tensor_text(*pair.a) + " → " + tensor_text(*pair.b));
    }
    for (const TensorPair& pair : tensors.same_shape) {
      if (pair.is_retyped()) retyped.add(pair.a->name, escape(pair.a->type) + " → " + escape(pair.b->type));
    }
    for (const ComparedTensor* tensor : tensors.removed) removed.add(tensor->name, tensor_text(*tensor));
    for (const ComparedTensor* tensor : tensors.added) added.add(tensor->name, tensor_text(*tensor));
    rows("reshaped", reshaped);
    rows("retyped", retyped);
    rows("removed", removed);
    rows("added", added);
  }

  void write_values() {
    const std::vector<TensorChange> worst = worst_first(diff_);
    if (worst.empty()) return;
    table("Values", "| | Tensor | Difference |");
    for (std::size_t i = 0; i < worst.size() && i < options_.top; ++i) {
      const Measurement& measured = *worst[i].measured;
      row(diff_.is_within(measured) ? "tolerated" : "changed", escape(worst[i].pair.a->name),
          measurement_text(measured));
    }
    if (worst.size() > options_.top) {
      out_ << fmt::format("\n{} differ in all.\n", counted(worst.size(), "tensor"));
    }
  }

  void write_layout() {
    if (diff_.layout.empty()) return;
    table("Layout", "| | A | B |");
    for (const LayoutChange& change : diff_.layout) {
      const bool is_order = change.a.empty() && change.b.empty();
      out_ << fmt::format("| {} | {} | {} |\n", cell(change.name), is_order ? "differs" : cell(change.a),
                          is_order ? "differs" : cell(change.b));
    }
  }

  TextOutput& out_;
  const ModelDiff& diff_;
  const DiffOptions& options_;
};

}  // namespace

Status write_diff_markdown(TextOutput& out, const ModelDiff& diff, const DiffOptions& options) {
  return DiffMarkdown(out, diff, options).write();
}

}  // namespace modelutils

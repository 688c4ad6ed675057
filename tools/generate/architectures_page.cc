#include "architectures_page.h"

#include <fmt/core.h>

#include <set>
#include <string>
#include <vector>

#include "arch/families.h"
#include "arch/families/runtime_only.h"
#include "arch/names.h"
#include "base/text.h"

namespace modelutils::generate {

namespace {

std::string list(std::string_view names) {
  std::string text;
  for_each_name(names, [&](std::string_view name) {
    if (!text.empty()) text += ", ";
    text += fmt::format("`{}`", name);
  });
  return text;
}

// The changes that a family's tensors undergo during conversion.
struct Ways {
  std::set<std::string_view> as_f32;  // matrices that runtimes require in F32
  std::set<std::string_view> transposed;
  bool reorders = false, stacks = false, computes = false, generates = false, normalises = false;
};

std::string_view plain_name(const arch::Tensor& row) {
  return row.name.substr(row.name.starts_with('@') ? 1 : 0);
}

void look_at(std::span<const arch::Tensor> rows, Ways& ways) {
  for (const arch::Tensor& row : rows) {
    const bool is_matrix = arch::dimensions_of(row.ne).size() > 1;
    if (is_matrix && row.f32) ways.as_f32.insert(plain_name(row));
    ways.generates |= !arch::generator_of(row).empty();
    for (const arch::SourceAlternative& alternative : arch::parse_source(row.source)) {
      for (const arch::SourcePart& part : alternative.parts) {
        if (part.is_of_elements && is_matrix) ways.transposed.insert(plain_name(row));
        ways.reorders |= !part.view.empty() && !part.is_of_elements && is_matrix;
        ways.stacks |= part.is_stacked();
        const bool is_of_columns = part.operation == arch::Operation::unit_columns;
        ways.computes |= part.operation != arch::Operation::none && !is_of_columns;
        ways.normalises |= is_of_columns;
      }
    }
  }
}

std::string tensors_text(const arch::Family& family) {
  Ways ways;
  look_at(family.first_tensors, ways);
  for (const auto& group : family.layer_tensors) look_at(group, ways);
  look_at(family.last_tensors, ways);
  std::string text =
      "Every matrix keeps its rows, so quantised blocks are carried bit for bit where a block type allows it";
  if (ways.reorders) text += "; some are reordered or split";
  if (ways.stacks) text += "; separate experts are stacked";
  text += ".";
  if (!ways.as_f32.empty()) {
    text += " Decoded to F32, as llama.cpp requires:";
    for (const std::string_view name : ways.as_f32) text += fmt::format(" `{}`", name);
    text += ".";
  }
  if (!ways.transposed.empty()) {
    text += " Transposed if the directory stores them that way, to F32 if they are quantised:";
    for (const std::string_view name : ways.transposed) text += fmt::format(" `{}`", name);
    text += ".";
  }
  if (ways.computes) text += " Some vectors are computed (see conversion.md).";
  if (ways.normalises) text += " An output head that is to be normalised is computed (see conversion.md).";
  if (ways.generates) text += " Rope factors are generated from config.json.";
  return text;
}

std::string limits_text(const arch::Family& family) {
  std::string text = fmt::format("- The activation is `{}`.\n", family.activation);
  for (const arch::Fixed& fixed : family.fixed) {
    const std::string other = fixed.value.empty() ? "" : fmt::format(" other than {}", list(fixed.value));
    text += fmt::format("- `{}`{} {}: {}.\n", fixed.field, other,
                        fixed.severity == Severity::error ? "is refused" : "gives a warning", fixed.because);
  }
  for (const arch::Relation& relation : family.relations) {
    if (relation.field.empty()) continue;  // concerns no config.json field
    text += fmt::format("- Refused where `{}` {}.\n", relation.field, relation.because);
  }
  switch (family.head) {
    case arch::OutputHead::optional: break;
    case arch::OutputHead::never: text += "- The embedding is the output head; a different head is refused.\n"; break;
    case arch::OutputHead::always: text += "- A tied model gets a copy of its embedding as output head.\n"; break;
  }
  return text;
}

// The architectures of llama.cpp without a family, which scripts/check-drift compares with a llama.cpp build.
std::string only_run_text() {
  std::set<std::string> models, drafts;
  for (const arch::RuntimeArchitecture& row : arch::runtime_architectures()) {
    for_each_name(row.names, [&](std::string_view name) {
      if (name != "clip") (row.is_draft ? drafts : models).insert(list(name));  // projectors have a part of their own
    });
  }
  const auto text = [](const std::set<std::string>& names) {
    return joined(std::vector<std::string>(names.begin(), names.end()));
  };
  return fmt::format(
      "\nllama.cpp runs further architectures to which no directory is converted. Their GGUF files can be listed,\n"
      "verified, edited and quantised, and their memory use is known: {}. Drafts, which read another model's\n"
      "layers: {}. `scripts/check-drift` fails if llama.cpp has an architecture that is not on this page.\n",
      text(models), text(drafts));
}

}  // namespace

std::string architectures_page() {
  std::string page =
      "# Architectures\n\n"
      "What `mlx2gguf` converts, and what `verify` knows about GGUF files. This page is written from the rows of\n"
      "`lib/arch/families` (`scripts/build; build/release/tools/generate/modelutils_generate --architectures`); a "
      "test\n"
      "compares the two. How to add a family: [adding-an-architecture.md](adding-an-architecture.md).\n\n"
      "| family | `model_type` | GGUF architecture |\n|---|---|---|\n";
  for (const arch::Family* family : arch::all_families()) {
    page += fmt::format("| [{0}](#{0}) | {1} | `{2}` |\n", family->name, list(family->model_types), family->gguf);
  }
  for (const arch::Family* family : arch::all_families()) {
    page += fmt::format("\n## {}\n\n", family->name);
    if (!family->about.empty()) page += fmt::format("{}\n\n", family->about);
    page += fmt::format("Classes: {}. {}\n\n{}", list(family->classes), tensors_text(*family), limits_text(*family));
  }
  page += "\n## Not converted\n\n";
  for (const arch::NotConverted& model : arch::not_converted()) {
    page += fmt::format("- `{}`: {}.\n", model.model_type, model.because);
  }
  page += only_run_text();
  return page;
}

}  // namespace modelutils::generate

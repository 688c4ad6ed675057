#include "report/gguf_dump.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.h"
#include "model/gguf_catalog.h"
#include "report/gguf_selection.h"
#include "report/values.h"

namespace modelutils {

namespace {

// Of the file that was named, where the model has several.
const gguf::Document& document_at(const gguf::SplitSet& set, const std::string& path) {
  const auto named = std::ranges::find(set.files, path, &gguf::SetFile::path);
  return named == set.files.end() ? set.files.front().document : named->document;
}

Status dump_values(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options,
                   TextOutput& out) {
  const Catalog catalog = gguf_catalog(set);
  const CatalogTensor* tensor = catalog.find(options.name);
  if (tensor == nullptr) {
    const bool is_listed = std::ranges::any_of(
        set.files, [&](const gguf::SetFile& file) { return file.document.find_tensor(options.name) != nullptr; });
    return input_error("tensor-not-found",
                       is_listed ? "the type or the size of the tensor is not known, or its data is not in the file"
                                 : "the file has no such tensor; --list tensors names them",
                       gguf::where_tensor(options.name), {}, path);
  }
  return write_values(out, value_source(catalog, *tensor), {options.count, options.json, false});
}

Status dump_stats(const gguf::SplitSet& set, const GgufDumpOptions& options, TextOutput& out) {
  const Catalog catalog = gguf_catalog(set);
  std::vector<ValueSource> tensors;
  for (const CatalogTensor& tensor : catalog.tensors) {
    if (selects(options.tensor_globs, tensor.name)) tensors.push_back(value_source(catalog, tensor));
  }
  return write_statistics(out, tensors, options.json);
}

}  // namespace

Status dump_gguf(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options, bool first,
                 TextOutput& out) {
  const bool is_for_people = options.form == GgufDumpForm::text || options.form == GgufDumpForm::layers ||
                             options.form == GgufDumpForm::markdown;
  if (is_for_people && !first) out << "\n";
  switch (options.form) {
    case GgufDumpForm::text: return dump_gguf_text(set, path, options, out);
    case GgufDumpForm::json: return dump_gguf_json(set, path, options, out);
    case GgufDumpForm::jsonl: return dump_gguf_jsonl(set, options, out);
    case GgufDumpForm::csv: return dump_gguf_csv(set, options, first, out);
    case GgufDumpForm::markdown: return dump_gguf_markdown(set, path, options, out);
    case GgufDumpForm::layers: return dump_gguf_layers(set, path, options, out);
    case GgufDumpForm::value: return dump_gguf_value(set, path, options.name, options, out);
    case GgufDumpForm::values: return dump_values(set, path, options, out);
    case GgufDumpForm::stats: return dump_stats(set, options, out);
    case GgufDumpForm::key_names:
      for (const SelectedKey& selected : select_keys(set, options)) out << escape(selected.key->key) << "\n";
      return {};
    case GgufDumpForm::tensor_names:
      for (const SelectedTensor& selected : select_tensors(set, options)) out << escape(selected.tensor->name) << "\n";
      return {};
    case GgufDumpForm::data_offset:
      // Where the header breaks off there is no answer; the error says why.
      if (document_at(set, path).complete) out << fmt::format("{}\n", document_at(set, path).data_offset);
      return {};
    case GgufDumpForm::alignment: out << fmt::format("{}\n", document_at(set, path).alignment); return {};
  }
  return internal_error("no such form of output");
}

}  // namespace modelutils

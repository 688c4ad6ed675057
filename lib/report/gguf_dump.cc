#include "report/gguf_dump.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/escape.h"
#include "model/gguf_catalog.h"
#include "model/gguf_summary.h"
#include "report/gguf_selection.h"
#include "report/values.h"

namespace modelutils {

namespace {

// Of the file that was named, where the model has several.
const gguf::Document& document_at(const gguf::SplitSet& set, const std::string& path) {
  const auto named = std::ranges::find(set.files, path, &gguf::SetFile::path);
  return named == set.files.end() ? set.files.front().document : named->document;
}

// Why a tensor that is listed is not in the catalog.
std::string_view why_not_readable(const gguf::TensorInfo& tensor) {
  return tensor.bytes() ? "the tensor's data is not in the file" : "the tensor's type or size is not known";
}

// Where several models are shown, each must say which it is.
std::string told_path(const std::string& path, const GgufDumpOptions& options) {
  return options.several ? path : std::string();
}

Status dump_values(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options,
                   TextOutput& out) {
  const Catalog catalog = gguf_catalog(set);
  const CatalogTensor* tensor = catalog.find(options.name);
  if (tensor == nullptr) {
    std::string message;
    for (const gguf::SetFile& file : set.files) {
      if (const gguf::TensorInfo* listed = file.document.find_tensor(options.name)) message = why_not_readable(*listed);
    }
    if (message.empty()) {
      message = "the file has no such tensor" + name_hint("tensor", options.name, each_tensor_name(set));
    }
    return input_error("tensor-not-found", std::move(message), gguf::where_tensor(options.name), {}, path);
  }
  return write_values(out, value_source(catalog, *tensor),
                      {options.count, options.json, false, told_path(path, options)});
}

Status dump_stats(const gguf::SplitSet& set, const std::string& path, const GgufDumpOptions& options, TextOutput& out) {
  const Catalog catalog = gguf_catalog(set);
  auto stored = catalog.tensors.begin();  // the same order, without those that cannot be read
  std::vector<ValueSource> tensors;
  for (const SelectedTensor& listed : select_tensors(set, GgufDumpOptions{})) {
    const gguf::TensorInfo& tensor = *listed.tensor;
    const bool is_stored = stored != catalog.tensors.end() && stored->name == tensor.name &&
                           stored->type == tensor.type() && stored->ne == tensor.ne &&
                           stored->offset == data_offset_of(listed);
    const CatalogTensor* readable = is_stored ? &*stored++ : nullptr;
    if (!selects(options.tensor_globs, tensor.name)) continue;
    if (readable != nullptr) {
      tensors.push_back(value_source(catalog, *readable));
      continue;
    }
    ValueSource unreadable;
    unreadable.name = tensor.name;
    unreadable.type = gguf_type_text(tensor);
    unreadable.shape = tensor.ne;
    unreadable.problem = why_not_readable(tensor);
    tensors.push_back(std::move(unreadable));
  }
  return write_statistics(out, tensors, {options.json, told_path(path, options)});
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
    case GgufDumpForm::stats: return dump_stats(set, path, options, out);
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

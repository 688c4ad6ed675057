// A GGUF model as a side of a comparison.
#include <fmt/core.h>

#include <optional>

#include "base/path.h"
#include "compare/compared_model.h"
#include "listing/gguf_summary.h"
#include "model/catalog.h"
#include "to_directory/fused.h"

namespace modelutils {

namespace {

struct OpenedGguf {
  std::shared_ptr<const Model> model;
  std::optional<gguf::SplitSet> apart;  // the model's files with the parts of fused tensors
  std::unique_ptr<ListingSource> source;
  Listing listing;  // without tensors
};

double bits_of(std::optional<TensorType> type) {
  if (!type) return 0;
  const TypeInfo& info = type_info(*type);
  return 8.0 * info.block_bytes / info.block_elements;
}

std::vector<LayoutFact> layout_of(const gguf::SplitSet& set) {
  const gguf::Document& first = set.files.front().document;
  std::vector<LayoutFact> facts = {{"version", std::to_string(first.version)},
                                   {"byte order", first.big_endian ? "big-endian" : "little-endian"},
                                   {"files", std::to_string(set.files.size())},
                                   {"alignment", std::to_string(first.alignment)},
                                   {"data offset", std::to_string(first.data_offset)}};
  std::string order;
  for (const gguf::KeyValue& key : first.keys) {
    if (!key.key.starts_with("split.")) order += key.key + '\n';
  }
  facts.push_back({"order of keys", std::move(order)});
  order.clear();
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) order += tensor.name + '\n';
  }
  facts.push_back({"order of tensors", std::move(order)});
  return facts;
}

// Not from the model's catalog: a comparison of many tensors needs less memory without it.
void add_tensors(const gguf::SplitSet& set, ComparedModel& side) {
  std::size_t count = 0;
  for (const gguf::SetFile& file : set.files) count += file.document.tensors.size();
  side.tensors.reserve(count);
  for (const gguf::SetFile& file : set.files) {
    const std::string_view name = set.is_split() ? side.kept->keep(base_name_of(file.path)) : std::string_view();
    for (const gguf::TensorInfo& info : file.document.tensors) {
      const Tensor stored = tensor_of(file.document, info);
      ComparedTensor& tensor = side.tensors.emplace_back();
      tensor.name = stored.name;
      tensor.type = stored.type ? type_name(*stored.type) : side.kept->keep(gguf_type_text(info));
      tensor.bits = bits_of(stored.type);
      tensor.ne = stored.ne;
      tensor.bytes = stored.bytes;
      tensor.offset = info.offset;  // a longer header alone moves nothing
      tensor.file = name;
      tensor.problem = problem_text(stored.unreadable);
      if (!stored.is_readable()) continue;
      tensor.values = [&file, &info] {
        const gguf::Document& document = file.document;
        return std::make_unique<MatrixValues>(
            stored_values(tensor_of(document, info), *file.source, file.path, document.big_endian));
      };
    }
  }
}

}  // namespace

Result<ComparedModel> compared_gguf(std::shared_ptr<const Model> model, const ComparisonView& view) {
  const auto opened = std::make_shared<OpenedGguf>();
  opened->model = std::move(model);
  const gguf::SplitSet& set = *opened->model->gguf;
  opened->source = gguf_listing(*opened->model);
  ListingRequest request;
  request.tensors = false;
  opened->listing = opened->source->list(request);
  ComparedModel side;
  side.path = opened->model->path();
  side.kind = "GGUF";
  side.naming = Naming::gguf;
  side.facts = opened->listing.facts;
  side.key_kind = KeyKind::gguf;
  if (view.layout) side.layout = layout_of(set);
  for (const ListedKey& key : opened->listing.keys) {
    if (key.name.starts_with("tokenizer.")) {
      side.tokenizer.push_back(key);
    } else if (!key.name.starts_with("split.")) {
      side.keys.push_back(key);
    }
  }
  side.has_tokenizer = !side.tokenizer.empty();
  if (view.apart) {
    opened->apart = set;
    if (!to_directory::take_fused_apart(*opened->apart)) opened->apart.reset();
  }
  add_tensors(opened->apart ? *opened->apart : set, side);
  side.opened = opened;
  return side;
}

}  // namespace modelutils

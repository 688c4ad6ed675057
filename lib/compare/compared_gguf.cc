// A GGUF model as a side of a comparison.
#include <fmt/core.h>

#include "base/path.h"
#include "compare/compared_model.h"
#include "listing/gguf_listing.h"
#include "model/gguf_catalog.h"

namespace modelutils {

namespace {

struct OpenedGguf {
  std::shared_ptr<const Model> model;
  Catalog catalog;
  std::unique_ptr<ListingSource> source;
  Listing listing;
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

}  // namespace

std::vector<u64> without_trailing_ones(std::span<const u64> ne) {
  while (ne.size() > 1 && ne.back() == 1) ne = ne.first(ne.size() - 1);
  return {ne.begin(), ne.end()};
}

Result<ComparedModel> compared_gguf(std::shared_ptr<const Model> model) {
  const auto opened = std::make_shared<OpenedGguf>();
  opened->model = std::move(model);
  const gguf::SplitSet& set = *opened->model->gguf;
  opened->catalog = gguf_catalog(set);
  opened->source = gguf_listing(set, opened->model->path());
  opened->listing = opened->source->list({});
  ComparedModel side;
  side.path = opened->model->path();
  side.kind = "GGUF";
  side.naming = Naming::gguf;
  side.facts = opened->listing.facts;
  side.key_kind = KeyKind::gguf;
  side.layout = layout_of(set);
  for (const ListedKey& key : opened->listing.keys) {
    if (key.name.starts_with("tokenizer.")) {
      side.tokenizer.push_back(key);
    } else if (!key.name.starts_with("split.")) {
      side.keys.push_back(key);
    }
  }
  side.has_tokenizer = !side.tokenizer.empty();
  auto stored = opened->catalog.tensors.begin();  // in the same order, without those that cannot be read
  for (const ListedTensor& listed : opened->listing.tensors) {
    ComparedTensor tensor;
    tensor.name = listed.name;
    tensor.type = listed.type_name;
    tensor.bits = bits_of(listed.type);
    tensor.ne.assign(listed.shape.begin(), listed.shape.end());
    tensor.bytes = listed.bytes.value_or(0);
    // In the data section: a longer header alone moves nothing.
    tensor.offset = listed.data_offset.value_or(0) - set.files[listed.file].document.data_offset;
    if (set.is_split()) tensor.file = base_name_of(set.files[listed.file].path);
    tensor.problem = listed.problem;
    if (listed.problem.empty()) {
      tensor.values = [catalog = &opened->catalog, entry = &*stored] {
        return std::make_unique<MatrixValues>(values_of(*catalog, *entry));
      };
      ++stored;
    }
    side.tensors.push_back(std::move(tensor));
  }
  side.opened = opened;
  return side;
}

}  // namespace modelutils

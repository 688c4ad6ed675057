// A GGUF model as a side of a comparison.
#include <fmt/core.h>

#include <optional>

#include "base/path.h"
#include "compare/compared_model.h"
#include "listing/gguf_listing.h"
#include "listing/gguf_summary.h"
#include "model/gguf_catalog.h"
#include "to_directory/fused.h"

namespace modelutils {

namespace {

// A file of the set, for the values of its tensors.
struct OpenedFile {
  const gguf::SetFile* file;
  std::string base_name;
};

struct OpenedGguf {
  std::shared_ptr<const Model> model;
  std::optional<gguf::SplitSet> apart;  // the model's files with the parts of fused tensors
  std::vector<OpenedFile> files;
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

std::unique_ptr<TensorValues> values_of(const OpenedFile& opened, const gguf::TensorInfo& tensor) {
  const gguf::Document& document = opened.file->document;
  StoredMatrix matrix;
  matrix.form = plain_form(*tensor.type());
  matrix.form.big_endian = document.big_endian;
  matrix.elements = tensor.elements().value_or(0);
  matrix.columns = tensor.ne.empty() ? 1 : tensor.ne.front();
  matrix.planes[0] = {opened.file->source.get(), document.data_offset + tensor.offset};
  return std::make_unique<MatrixValues>(matrix, tensor.name, opened.file->path);
}

void add_tensors(OpenedGguf& opened, ComparedModel& side) {
  const gguf::SplitSet& set = opened.apart ? *opened.apart : *opened.model->gguf;
  std::size_t count = 0;
  for (const gguf::SetFile& file : set.files) {
    opened.files.push_back({&file, set.is_split() ? base_name_of(file.path) : std::string()});
    count += file.document.tensors.size();
  }
  side.tensors.reserve(count);
  for (const OpenedFile& file : opened.files) {
    const gguf::Document& document = file.file->document;
    for (const gguf::TensorInfo& info : document.tensors) {
      const GgufTensorPlace place = gguf_tensor_place(document, info);
      ComparedTensor& tensor = side.tensors.emplace_back();
      tensor.name = info.name;
      tensor.type = info.type() ? type_name(*info.type()) : side.kept->keep(gguf_type_text(info));
      tensor.bits = bits_of(info.type());
      tensor.ne = info.ne;
      tensor.bytes = place.bytes.value_or(0);
      tensor.offset = info.offset;  // a longer header alone moves nothing
      tensor.file = file.base_name;
      tensor.problem = place.problem;
      if (place.problem.empty()) tensor.values = [&file, &info] { return values_of(file, info); };
    }
  }
}

}  // namespace

Result<ComparedModel> compared_gguf(std::shared_ptr<const Model> model, const ComparisonView& view) {
  const auto opened = std::make_shared<OpenedGguf>();
  opened->model = std::move(model);
  const gguf::SplitSet& set = *opened->model->gguf;
  opened->source = gguf_listing(set, opened->model->path());
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
  add_tensors(*opened, side);
  side.opened = opened;
  return side;
}

}  // namespace modelutils

#include "base/path.h"
#include "listing/gguf_companion.h"
#include "listing/listing.h"

namespace modelutils {

namespace {

// Lists the entries as tensors of float32 sums.
class ImatrixListing : public ListingSource {
 public:
  explicit ImatrixListing(const Model& model) : ListingSource(model), matrix_(model.importance) {}

  Listing list(const ListingRequest& request) override {
    const std::vector<Tensor>& tensors = model_.catalog().tensors;
    Listing listing;
    listing.format = Listing::Format::gguf;
    listing.path = model_.path();
    listing.kind = "the format before GGUF";
    listing.has_tensors = request.tensors;
    listing.facts = facts();
    listing.importance = importance_facts(matrix_);
    listing.tensor_count = tensors.size();
    listing.files.push_back({.path = matrix_->path(),
                             .name = base_name_of(matrix_->path()),
                             .size = matrix_->source()->size(),
                             .header_bytes = 0,
                             .alignment = 0,
                             .data_offset = std::nullopt,
                             .tensors = tensors.size()});
    if (!request.tensors) return listing;
    for (const Tensor& tensor : tensors) {
      if (!selects(request.tensor_globs, tensor.name)) continue;
      ListedTensor& listed = listing.tensors.emplace_back();
      listed.stored = &tensor;
      listed.type_name = type_name(*tensor.type);
      listed.parameters = tensor.ne.front();
      listed.index = model_.place_of(tensor);
    }
    return listing;
  }

  std::optional<ListedValue> find_value(std::string_view) override { return std::nullopt; }
  void each_key_name(bool, const NameVisitor&) const override {}

 private:
  ModelFacts facts() const {
    const std::vector<Tensor>& tensors = model_.catalog().tensors;
    ModelFacts facts;
    facts.companion = legacy_imatrix_facts(*matrix_);
    facts.file_size = matrix_->source()->size();
    TypeTotal total{.name = std::string(type_name(TensorType::F32)),
                    .type = TensorType::F32,
                    .tensors = tensors.size(),
                    .bytes = 0,
                    .parameters = 0};
    for (const Tensor& tensor : tensors) {
      *total.bytes += tensor.bytes;
      *total.parameters += tensor.ne.front();
    }
    facts.tensors = total.tensors;
    facts.parameters = total.parameters;
    facts.tensor_bytes = total.bytes;
    facts.types.push_back(std::move(total));
    return facts;
  }

  std::shared_ptr<const quantize::ImportanceMatrix> matrix_;
};

}  // namespace

std::unique_ptr<ListingSource> imatrix_listing(const Model& model) {
  return std::make_unique<ImatrixListing>(model);
}

}  // namespace modelutils

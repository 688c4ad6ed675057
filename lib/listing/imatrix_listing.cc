#include "listing/imatrix_listing.h"

#include "base/path.h"
#include "listing/gguf_companion.h"
#include "model/imatrix_catalog.h"

namespace modelutils {

namespace {

class ImatrixListing : public ListingSource {
 public:
  ImatrixListing(std::shared_ptr<const quantize::ImportanceMatrix> matrix, std::string path)
      : matrix_(std::move(matrix)), path_(std::move(path)), catalog_(imatrix_catalog(*matrix_)) {}

  Listing list(const ListingRequest& request) override {
    Listing listing;
    listing.format = Listing::Format::gguf;
    listing.path = path_;
    listing.kind = "the format before GGUF";
    listing.has_tensors = request.tensors;
    listing.facts = facts();
    listing.importance = importance_facts(matrix_);
    listing.tensor_count = catalog_.tensors.size();
    listing.files.push_back({.path = matrix_->path(),
                             .name = base_name_of(matrix_->path()),
                             .size = matrix_->source()->size(),
                             .header_bytes = 0,
                             .alignment = 0,
                             .data_offset = std::nullopt,
                             .tensors = catalog_.tensors.size()});
    if (!request.tensors) return listing;
    for (std::size_t i = 0; i < catalog_.tensors.size(); ++i) {
      const CatalogTensor& tensor = catalog_.tensors[i];
      if (!selects(request.tensor_globs, tensor.name)) continue;
      ListedTensor& listed = listing.tensors.emplace_back();
      listed.name = tensor.name;
      listed.type_name = type_name(*tensor.type);
      listed.type = tensor.type;
      listed.shape = tensor.ne;
      listed.parameters = tensor.ne.front();
      listed.bytes = tensor.bytes;
      listed.data_offset = tensor.offset;
      listed.index = i;
      listed.offset = matrix_->entries()[i].record_offset;
    }
    return listing;
  }

  std::optional<ListedValue> find_value(std::string_view) override { return std::nullopt; }

  std::optional<ValueSource> values_of(const std::string& tensor) override {
    const CatalogTensor* found = catalog_.find(tensor);
    return found == nullptr ? std::nullopt : std::optional(value_source(catalog_, *found));
  }

  std::vector<ValueSource> values_of(const Listing& listing) override {
    std::vector<ValueSource> sources;
    for (const ListedTensor& tensor : listing.tensors) {
      sources.push_back(value_source(catalog_, catalog_.tensors[tensor.index]));
    }
    return sources;
  }

  void each_key_name(bool, const NameVisitor&) const override {}
  void each_tensor_name(const NameVisitor& visit) const override {
    for (const CatalogTensor& tensor : catalog_.tensors) visit(tensor.name);
  }

 private:
  ModelFacts facts() const {
    ModelFacts facts;
    facts.companion = legacy_imatrix_facts(*matrix_);
    facts.file_size = matrix_->source()->size();
    TypeTotal total{.name = std::string(type_name(TensorType::F32)),
                    .type = TensorType::F32,
                    .tensors = catalog_.tensors.size(),
                    .bytes = 0,
                    .parameters = 0};
    for (const CatalogTensor& tensor : catalog_.tensors) {
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
  std::string path_;
  Catalog catalog_;
};

}  // namespace

std::unique_ptr<ListingSource> imatrix_listing(std::shared_ptr<const quantize::ImportanceMatrix> matrix,
                                               std::string path) {
  return std::make_unique<ImatrixListing>(std::move(matrix), std::move(path));
}

}  // namespace modelutils

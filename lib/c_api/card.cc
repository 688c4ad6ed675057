// The summary of a model and its layers as JSON ("card/1", docs/json.md).
#include "report/card_json.h"

#include "c_api/handle.h"
#include "listing/listing.h"

using namespace modelutils;
using namespace modelutils::c_api;

mu_status mu_card(const mu_model* model, mu_text** json) {
  return guarded([&]() -> Status {
    if (json == nullptr) return null_argument("json");
    *json = nullptr;
    if (model == nullptr) return null_argument("model");
    const Model& opened = model->opened;
    const std::unique_ptr<ListingSource> source = listing_of(opened);
    const Listing listing = source->list({});
    std::vector<GridTensor> tensors;
    for (const Tensor& tensor : opened.catalog().tensors) {
      if (!opened.is_part(tensor)) tensors.push_back({tensor.name, opened.type_text(tensor)});
    }
    json::Writer writer;
    write_card_json(writer, {opened.path(), format_info(opened.format).name, listing.facts, listing.kind, tensors});
    *json = std::make_unique<mu_text>(mu_text{writer.text()}).release();
    return {};
  });
}

// What a model is, and its network as a grid, as JSON ("card/1", docs/json.md).
#include "report/card_json.h"

#include "c_api/handle.h"
#include "listing/gguf_listing.h"
#include "listing/safetensors_listing.h"

using namespace modelutils;
using namespace modelutils::c_api;

mu_status mu_card(const mu_model* model, mu_text** json) {
  return guarded([&]() -> Status {
    if (json == nullptr) return null_argument("json");
    *json = nullptr;
    if (model == nullptr) return null_argument("model");
    const ModelView& view = model->view;
    const std::unique_ptr<ListingSource> source =
        view.gguf() != nullptr ? gguf_listing(*view.gguf(), view.path()) : safetensors_listing(*view.safetensors());
    const Listing listing = source->list({});
    std::vector<GridTensor> tensors;
    for (const ViewTensor& tensor : view.tensors()) {
      if (!tensor.is_part) tensors.push_back({tensor.name, type_text(tensor)});
    }
    json::Writer writer;
    write_card_json(writer, {view.path(), view.format(), listing.facts, listing.kind, tensors});
    *json = std::make_unique<mu_text>(mu_text{writer.text()}).release();
    return {};
  });
}

// A model's summary, and its network as a grid, as JSON.
#pragma once

#include <span>
#include <string_view>

#include "json/writer.h"
#include "listing/listing.h"
#include "report/layer_grid.h"

namespace modelutils {

struct Card {
  std::string_view path;    ///< as given
  std::string_view format;  ///< "gguf", "safetensors", "mlx"
  const ModelFacts& facts;
  std::string_view kind;                ///< Listing::kind
  std::span<const GridTensor> tensors;  ///< with their types as text
};

/// Writes one object, "card/1" (docs/json.md).
void write_card_json(json::Writer& json, const Card& card);

}  // namespace modelutils

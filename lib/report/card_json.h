// A model's summary, and its network as a grid, as JSON.
#pragma once

#include <span>
#include <string_view>

#include "json/writer.h"
#include "model/listing/listing.h"
#include "report/layer_grid.h"

namespace modelutils {

// The grid of a network as JSON: the members "stacks" and "others" of "card/1" and "page/1" (docs/json.md).

/// Writes both members. Identical layers share a row. The output is linear in the number of tensors, because rows list
/// only their existing cells.
void write_grid_members(json::Writer& json, std::span<const GridTensor> tensors);

struct Card {
  std::string_view path;    ///< as given
  std::string_view format;  ///< "gguf", "safetensors", "mlx"
  const ModelFacts& facts;
  std::string_view kind;                ///< Listing::kind
  std::span<const GridTensor> tensors;  ///< with their types as text
};

/// Writes the member "towers" if there are any.
void write_foreign_types(json::Writer& json, std::span<const ForeignTypeFacts> types);
void write_towers(json::Writer& json, std::span<const TowerFacts> towers);
/// Writes the member "image", if the model is an image or video model.
void write_image_member(json::Writer& json, const ModelFacts& facts);

/// Writes one object, "card/1" (docs/json.md).
void write_card_json(json::Writer& json, const Card& card);

}  // namespace modelutils

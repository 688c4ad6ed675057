// The coverage of an importance matrix, for people and as JSON.
#pragma once

#include "io/standard_output.h"
#include "json/writer.h"
#include "model/listing/listing.h"
#include "report/listing_forms.h"

namespace modelutils {

/// Writes the lines "covers" and "never used" of a card.
void write_importance_facts(TextOutput& out, const ImportanceFacts& facts, const ListingOptions& options);
/// Writes a row for each tensor, in layer order.
void write_importance_table(TextOutput& out, const ImportanceFacts& facts, const ListingOptions& options);
/// Writes the member "importance" (docs/json.md).
void write_importance_json(json::Writer& json, const ImportanceFacts& facts);

}  // namespace modelutils

// What an importance matrix covers, for people and as JSON.
#pragma once

#include "io/text_output.h"
#include "json/writer.h"
#include "listing/importance_facts.h"
#include "report/listing_forms.h"

namespace modelutils {

/// The lines "covers" and "never used" of a card.
void write_importance_facts(TextOutput& out, const ImportanceFacts& facts, const ListingOptions& options);
/// A row for each tensor, in the order of layers.
void write_importance_table(TextOutput& out, const ImportanceFacts& facts, const ListingOptions& options);
/// The member "importance" (docs/json.md).
void write_importance_json(json::Writer& json, const ImportanceFacts& facts);

}  // namespace modelutils

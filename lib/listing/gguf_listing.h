// A GGUF model, in one file or split, as a listing.
#pragma once

#include <memory>

#include "base/not_found.h"
#include "gguf/split_set.h"
#include "listing/listing.h"

namespace modelutils {

/// `path`: as the user gave it. `set` must live as long as the source and what it gives. Keys are those of the first
/// file; split.* of the others say nothing new.
std::unique_ptr<ListingSource> gguf_listing(const gguf::SplitSet& set, std::string path);

/// The names of a model's keys (those of the header's fields among them) and of its tensors.
EachName each_key_name(const gguf::SplitSet& set);
EachName each_tensor_name(const gguf::SplitSet& set);

/// A value as listings have it.
ListedValue listed_value(const gguf::SetFile& file, const gguf::Value& value);
/// The same of an element that is no array.
ListedValue listed_scalar(const gguf::Value& value);

}  // namespace modelutils

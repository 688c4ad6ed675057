// Parts of the GGUF listing that other code also uses.
#pragma once

#include "base/not_found.h"
#include "gguf/split_set.h"
#include "listing/listing.h"

namespace modelutils {

/// Functions that visit the names of a model's keys (including those of the header fields) and of its tensors.
EachName each_key_name(const gguf::SplitSet& set);
EachName each_tensor_name(const gguf::SplitSet& set);

/// Converts a value to the form used in listings.
ListedValue listed_value(const gguf::SetFile& file, const gguf::Value& value);
/// Like listed_value(), for a value that is not an array.
ListedValue listed_scalar(const gguf::Value& value);

}  // namespace modelutils

// A safetensors file, index or directory, with MLX's modules, as a listing.
#pragma once

#include <memory>

#include "listing/listing.h"
#include "model/safetensors_model.h"

namespace modelutils {

/// `model` must outlive the source and its results.
std::unique_ptr<ListingSource> safetensors_listing(const SafetensorsModel& model);

}  // namespace modelutils

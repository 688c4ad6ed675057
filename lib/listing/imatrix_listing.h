// An importance matrix of the format before GGUF as a listing: its entries are tensors of float32 sums.
#pragma once

#include <memory>

#include "listing/listing.h"
#include "quantize/importance.h"

namespace modelutils {

/// `path`: as the user gave it.
std::unique_ptr<ListingSource> imatrix_listing(std::shared_ptr<const quantize::ImportanceMatrix> matrix,
                                               std::string path);

}  // namespace modelutils

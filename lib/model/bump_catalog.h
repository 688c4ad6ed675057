// The entries of a BUMPWGT3 file as a catalog.
#pragma once

#include <memory>
#include <span>

#include "bump/document.h"
#include "model/tensor_catalog.h"

namespace modelutils {

/// Every entry that lies inside the file. `dimensions` give the shapes.
Catalog bump_catalog(std::shared_ptr<ByteSource> source, std::span<const bump::Entry> entries,
                     const bump::Dimensions& dimensions);

}  // namespace modelutils

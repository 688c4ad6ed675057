// The entries of a BUMPWGT4 or BUMPWGT5 file as a catalog, and the files that belong to it.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "bump/bump5_parse.h"
#include "io/random_access_file.h"
#include "model/tensor_catalog.h"

namespace modelutils {

/// Every entry that lies inside the file. `header` gives the shapes. `format`: "bumpwgt4" or "bumpwgt5".
Catalog bump5_catalog(std::shared_ptr<ByteSource> source, std::span<const bump5::Entry> entries,
                      const bump5::Header& header, std::string_view format);

/// What C-Kernel-Engine opens in a directory.
inline constexpr std::string_view bump5_weights_name = "weights.bump";
/// Where the engine's manifest and map of weights lie: fixed names next to weights.bump; for other names those that
/// `gguf2bump -o NAME.bump` gives, which are the same.
inline constexpr std::string_view bump5_manifest_name = "weights_manifest.json";
inline constexpr std::string_view bump5_map_name = "weights_manifest.map";

}  // namespace modelutils

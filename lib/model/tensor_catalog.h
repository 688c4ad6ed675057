// Every tensor of a model of any format, located: enough to hash, check, decode or compare it. What --data, --hash,
// --values and --stats work on, so that each is written once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/error.h"
#include "forms/tensor_values.h"
#include "tensor/types.h"

namespace modelutils {

struct CatalogTensor {
  std::string name;                ///< raw text of the file
  std::optional<TensorType> type;  ///< nothing if the table does not have it
  std::vector<u64> ne;             ///< ne order, ne0 (contiguous) first, for every format
  std::size_t file = 0;            ///< index into Catalog::files
  u64 offset = 0;                  ///< absolute in that file
  u64 bytes = 0;
};

struct CatalogFile {
  std::string path;
  std::string base_name;  ///< for manifests, which survive a move
  std::shared_ptr<ByteSource> source;
};

/// Only tensors whose bytes lie wholly inside their file are listed: reading them cannot fail for that reason.
struct Catalog {
  std::string format;  ///< "gguf", "safetensors", "mlx", "bumpwgt3"
  std::vector<CatalogFile> files;
  std::vector<CatalogTensor> tensors;
  bool big_endian = false;  ///< GGUF v3 big-endian: data is not decoded

  const CatalogTensor* find(std::string_view name) const;
};

/// Of a tensor as it is stored, whatever others belong to it.
StoredForm form_of(const Catalog& catalog, const CatalogTensor& tensor);
StoredPlane plane_of(const Catalog& catalog, const CatalogTensor& tensor);
/// One whose type is not known has as many elements as bytes. The catalog must outlive it.
StoredMatrix matrix_of(const Catalog& catalog, const CatalogTensor& tensor);
MatrixValues values_of(const Catalog& catalog, const CatalogTensor& tensor);

}  // namespace modelutils

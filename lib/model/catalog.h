// The tensors of a model of any format, as their headers describe them, and the files that hold them, with every byte
// accounted for. --data, --hash, --values, --stats, comparisons and converters work on these.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "base/types.h"
#include "model/format.h"
#include "model/forms/modules.h"
#include "model/forms/stored_form.h"
#include "tensor/types.h"

namespace modelutils {

namespace bump {
struct Dimensions;
struct Entry;
}  // namespace bump
namespace bump5 {
struct Entry;
struct Header;
}  // namespace bump5
namespace gguf {
struct Document;
struct SplitSet;
struct TensorInfo;
}  // namespace gguf
namespace quantize {
class ImportanceMatrix;
}
namespace safetensors {
struct Document;
struct ShardSet;
struct Tensor;
}  // namespace safetensors

/// The reason why the values of a tensor cannot be read.
enum class Unreadable : u8 {
  no,
  unknown_size,   ///< the type is unknown, or the size overflows
  outside_file,   ///< the bytes are not all in the file
  other_size,     ///< the number of bytes does not match type and shape
  repeated_name,  ///< another tensor of the model has the name (safetensors only)
};
/// Returns a text for messages: "the tensor's data is not in the file"; empty for `no`.
std::string_view problem_text(Unreadable unreadable);

/// A tensor as its header describes it. Contains views into the document or into the catalog's own texts.
struct Tensor {
  std::string_view name;           ///< raw text of the file
  std::optional<TensorType> type;  ///< nullopt for a type missing from the type table
  Unreadable unreadable = Unreadable::no;
  u32 file = 0;             ///< index into Catalog::files
  std::span<const u64> ne;  ///< as stored, contiguous dimension first in every format
  u64 offset = 0;           ///< absolute, in its file; `nowhere` if unknown
  u64 bytes = 0;            ///< without padding; 0 for unknown_size
  u64 record = 0;           ///< absolute offset of the entry in the header

  /// The offset if the header is truncated or the offset overflows.
  static constexpr u64 nowhere = ~u64{0};

  bool is_readable() const { return unreadable == Unreadable::no; }
};

/// Owns names and shapes that no document owns. Stored items never move.
class KeptTexts {
 public:
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }
  std::span<const u64> keep(std::vector<u64> shape) { return shapes_.emplace_back(std::move(shape)); }

 private:
  std::deque<std::string> texts_;
  std::deque<std::vector<u64>> shapes_;
};

struct CatalogFile {
  std::string path;
  std::string base_name;  ///< for manifests, whose names must remain valid after a move
  std::shared_ptr<ByteSource> source;
};

/// The documents must outlive the catalog; copies share its stored texts.
struct Catalog {
  Format format = Format::gguf;
  std::vector<CatalogFile> files;
  std::vector<Tensor> tensors;  ///< every entry, readable or not: by file, then in header order; repeated names last
  bool big_endian = false;      ///< GGUF v3 big-endian: data is not decoded
  std::shared_ptr<KeptTexts> kept = std::make_shared<KeptTexts>();

  /// Adds a tensor whose name and shape are in no document.
  Tensor& add(std::string name, std::vector<u64> ne);
  /// Returns the number of readable tensors.
  std::size_t readable() const;
  /// Returns the first readable tensor of that name; nullptr if there is none. Linear.
  const Tensor* find(std::string_view name) const;

  /// Fills `out` from byte `first` of the tensor's data. Errors: read errors.
  Status read(const Tensor& tensor, u64 first, MutableBytes out) const;
  /// Returns the form of the stored elements, ignoring scales and biases in other tensors.
  StoredForm form_of(const Tensor& tensor) const;
  /// Returns the tensor's location, as a plane of a matrix.
  StoredPlane plane_of(const Tensor& tensor) const;
  /// Returns the values as stored. A tensor of unknown type has one element per byte. The catalog must outlive the
  /// result.
  MatrixValues values_of(const Tensor& tensor) const;
};

/// Returns the tensors of all files. The set must outlive the catalog.
Catalog catalog_of(const gguf::SplitSet& set);
Catalog catalog_of(const safetensors::ShardSet& set);
/// Returns the catalog of a BUMPWGT file, with shapes computed from `dimensions` or `header`.
Catalog catalog_of(std::shared_ptr<ByteSource> source, std::span<const bump::Entry> entries,
                   const bump::Dimensions& dimensions);
Catalog catalog_of(std::shared_ptr<ByteSource> source, std::span<const bump5::Entry> entries,
                   const bump5::Header& header, Format format);
/// Returns the catalog of an importance matrix, whose entries are tensors of float32 sums.
Catalog catalog_of(const quantize::ImportanceMatrix& matrix);

/// Returns the values of a readable tensor as stored in `file`, which must outlive the result. `path` is for errors.
MatrixValues stored_values(const Tensor& tensor, const ByteSource& file, std::string_view path, bool big_endian);

/// Returns the tensor without its file number and index in a set.
Tensor tensor_of(const gguf::Document& document, const gguf::TensorInfo& info);
/// Returns the readability as far as one file determines it, so never `repeated_name`.
Unreadable readability_of(const safetensors::Document& document, const safetensors::Tensor& tensor);

// Accounts for every byte of a file: takes spans, returns gaps and overlaps.

/// The bytes [begin, end) of a structure that the caller numbers `id`. Empty spans are ignored.
struct ByteSpan {
  u64 begin = 0;
  u64 end = 0;
  std::size_t id = 0;
};

/// Bytes outside all spans.
struct ByteGap {
  u64 begin = 0;
  u64 end = 0;
  std::size_t before = no_span;  ///< id of the span with the last end before it
  std::size_t after = no_span;   ///< id of the span after it

  static constexpr std::size_t no_span = ~std::size_t{0};
};

/// A span that begins inside another one.
struct ByteOverlap {
  std::size_t first = 0;   ///< id of the span that begins earlier (or was given earlier)
  std::size_t second = 0;  ///< id of the span that begins inside the first
  u64 begin = 0;           ///< begin of the bytes that both contain
  u64 end = 0;
};

struct ByteMap {
  std::vector<ByteGap> gaps;          ///< in order of position
  std::vector<ByteOverlap> overlaps;  ///< each span is `second` at most once, with the span that reaches furthest
};

/// Finds gaps and overlaps in [begin, end). Spans may be in any order, each with begin <= end; parts outside the range
/// are ignored. Takes the time of sorting the spans.
ByteMap map_bytes(std::vector<ByteSpan> spans, u64 begin, u64 end);

// Statistics of a tensor's values.

/// Minimum, maximum, mean and deviation are those of the finite values; 0 if there are none.
struct Statistics {
  u64 count = 0;  ///< all values, finite or not
  u64 zeros = 0;
  u64 nans = 0;
  u64 infs = 0;
  double min = 0;
  double max = 0;
  double mean = 0;
  double deviation = 0;  ///< standard deviation of the population

  u64 finite() const { return count - nans - infs; }
};

/// Adds values, with the same result as if all had been added at once.
void add_values(Statistics& statistics, std::span<const float> values);

/// Returns the statistics of all `elements` values of a tensor, read in pieces by read(first, std::span<float>) ->
/// Status.
template <typename Read>
Result<Statistics> statistics_of(u64 elements, Read&& read) {
  constexpr u64 piece = 16 * 1024;  // stays in the first cache levels
  Statistics statistics;
  std::vector<float> values;
  for (u64 first = 0; first < elements; first += values.size()) {
    values.resize(std::min(piece, elements - first));
    MU_TRY(read(first, std::span(values)));
    add_values(statistics, values);
  }
  return statistics;
}

// Compares matrices that may be stored in different types.

/// True if both matrices have the same values in the same order. Decodes them up to the first difference; NaN equals
/// nothing. Errors: those of reading; "tensor-no-decoder".
Result<bool> same_values(const StoredMatrix& a, const StoredMatrix& b);

}  // namespace modelutils

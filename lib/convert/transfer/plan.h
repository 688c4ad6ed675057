// Plans: what a conversion will write, before it writes a byte. Each direction extends `Plan` with its sources, recipes
// and forms. A planned GGUF can be opened like a file, so everything that reads a model can also read a plan.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_reader.h"
#include "base/error.h"
#include "convert/transfer/stream.h"
#include "formats/gguf/split_set.h"

namespace modelutils {

/// A file with tensors.
struct PlannedFile {
  std::string path;  ///< or its name in the output directory
  std::string header;
  u64 size = 0;  ///< of the whole file
};

struct Plan {
  std::vector<PlannedFile> files;
  std::vector<StreamTensor> stream;  ///< in the order of writing

  /// Returns the size of `files`.
  u64 bytes() const;
};

/// Writes the files (`outputs` has one element per file), and reads their headers back. Returns the error of each
/// tensor. Errors: those of `encode` and `take`, of writing, and of check_written().
Result<std::vector<ValueSums>> write_planned(const Plan& plan, std::span<AtomicOutput> outputs, unsigned threads,
                                             const EncodeRows& encode, Progress& progress, const TakeRows& take = {});

/// The same with bytes that are copied: `copied` as for stream_tensors().
Result<std::vector<ValueSums>> write_planned(const Plan& plan, std::span<const CopiedFrom> copied,
                                             std::span<AtomicOutput> outputs, unsigned threads,
                                             const EncodeRows& encode, Progress& progress);

/// A file before it is written: its header, followed by zeros or by the bytes of another source.
class PlannedSource : public ByteSource {
 public:
  /// `header` must outlive this object. It is followed by the bytes of `rest` from the same offset on, or by zeros.
  PlannedSource(std::string_view header, u64 file_size, std::string name, std::shared_ptr<const ByteSource> rest = {})
      : header_(header), file_size_(file_size), name_(std::move(name)), rest_(std::move(rest)) {}

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override;
  std::optional<u64> size() const override { return file_size_; }
  const std::string& name() const override { return name_; }

 private:
  std::string_view header_;
  u64 file_size_;
  std::string name_;
  std::shared_ptr<const ByteSource> rest_;
};

/// Opens and parses a GGUF file with this header, which must outlive the result. Its tensors are zeros.
Result<gguf::SetFile> planned_file(std::string_view header, u64 file_size, std::string path);

}  // namespace modelutils

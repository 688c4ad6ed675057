#include "formats/pytorch/contiguous_source.h"

#include <algorithm>
#include <cstring>

namespace modelutils::pytorch {

ContiguousSource::ContiguousSource(std::shared_ptr<ByteSource> file, const Document& document)
    : file_(std::move(file)), file_size_(document.file_size), end_(document.file_size) {
  std::vector<const ByteSource*> sources(document.storages.size(), file_.get());
  for (std::size_t i = 0; i < sources.size(); ++i) {
    if (!document.storages[i].deflated) continue;
    inflated_.push_back(std::make_unique<InflatedSource>(*file_, *document.storages[i].deflated));
    sources[i] = inflated_.back().get();
  }
  offsets_.reserve(document.tensors.size());
  for (const Tensor& tensor : document.tensors) {
    const Storage& storage = document.storages[tensor.storage];
    if (tensor.bytes == 0) {
      offsets_.push_back(0);
    } else if (tensor.is_contiguous && !storage.deflated) {
      offsets_.push_back(storage.offset + tensor.offset);
    } else {
      // Cannot overflow: resolve.cc limits the sum of all tensors to a multiple of the file's size.
      offsets_.push_back(end_);
      gathered_.push_back({end_, tensor, storage.deflated ? 0 : storage.offset, sources[tensor.storage]});
      end_ += tensor.bytes;
    }
  }
}

Result<std::size_t> ContiguousSource::read_some(u64 offset, MutableBytes out) const {
  if (offset >= end_ || out.empty()) return 0;
  if (offset < file_size_) {
    out = out.first(std::min<u64>(out.size(), file_size_ - offset));
    MU_ASSIGN(const std::size_t got, file_->read_some(offset, out));
    if (checksums_) checksums_->add(offset, out.first(got));
    return got;
  }
  const Gathered& from = *std::prev(std::ranges::upper_bound(gathered_, offset, {}, &Gathered::begin));
  out = out.first(std::min<u64>(out.size(), from.begin + from.tensor.bytes - offset));
  MU_TRY(gather(from, offset - from.begin, out));
  return out.size();
}

namespace {

/// Elements farther apart are read one by one; closer ones together with the bytes between them.
constexpr u64 near_bytes = 4096;
constexpr u64 window_bytes = 256 * 1024;

/// Reads elements at equal distances in a storage.
class RunReader {
 public:
  RunReader(const ByteSource& storage, u64 base, u64 width) : storage_(storage), base_(base), width_(width) {}

  /// Calls take(i, element's bytes) for the elements at index + i * stride, i = 0 … count - 1.
  template <typename Take>
  Status read(u64 index, u64 stride, u64 count, Take take) {
    const u64 most = stride * width_ > near_bytes ? 1 : window_bytes / (std::max<u64>(stride, 1) * width_);
    for (u64 done = 0; done < count;) {
      const u64 piece = std::min(count - done, most);
      window_.resize(((piece - 1) * stride + 1) * width_);
      MU_TRY(storage_.read_exact(base_ + (index + done * stride) * width_, window_));
      for (u64 i = 0; i < piece; ++i) take(done + i, window_.data() + i * stride * width_);
      done += piece;
    }
    return {};
  }

 private:
  const ByteSource& storage_;
  u64 base_;
  u64 width_;
  std::vector<std::byte> window_;
};

/// Returns the storage index of the first element of row `row`; rows are numbered across all outer dimensions.
u64 row_index(const Tensor& tensor, u64 row) {
  u64 index = 0;
  for (std::size_t i = tensor.shape.size(); i-- > 1;) {
    index += row % tensor.shape[i - 1] * tensor.strides[i - 1];
    row /= tensor.shape[i - 1];
  }
  return index;
}

}  // namespace

/// Fills `out` with the tensor's bytes starting at `offset`, which may be inside an element.
Status ContiguousSource::gather(const Gathered& from, u64 offset, MutableBytes out) const {
  const Tensor& tensor = from.tensor;
  const u64 base = from.storage_offset + tensor.offset;
  if (tensor.is_contiguous) return from.storage->read_exact(base + offset, out);
  const u64 width = tensor.element_bytes();
  const std::size_t dims = tensor.shape.size();  // at least 1: a scalar is contiguous
  const u64 row = tensor.shape[dims - 1], stride = tensor.strides[dims - 1];
  RunReader reader(*from.storage, base, width);
  const auto place = [&](u64 element, const std::byte* bytes) {
    const u64 at = element * width;  // offset in the tensor
    const u64 begin = std::max(at, offset), end = std::min(at + width, offset + out.size());
    std::memcpy(out.data() + (begin - offset), bytes + (begin - at), end - begin);
  };
  const u64 last = (offset + out.size() - 1) / width;
  for (u64 element = offset / width; element <= last;) {
    const u64 column = element % row;
    // Whole rows of a column-major matrix: read column by column, so that each read covers all of these rows.
    const u64 rows_left = dims < 2 ? 1 : tensor.shape[dims - 2] - element / row % tensor.shape[dims - 2];
    const u64 rows = std::min(rows_left, (last + 1 - element) / row);
    if (column == 0 && rows > 1 && tensor.strides[dims - 2] < stride) {
      const u64 index = row_index(tensor, element / row);
      for (u64 c = 0; c < row; ++c) {
        MU_TRY(reader.read(index + c * stride, tensor.strides[dims - 2], rows,
                           [&](u64 r, const std::byte* bytes) { place(element + r * row + c, bytes); }));
      }
      element += rows * row;
      continue;
    }
    const u64 count = std::min(row - column, last - element + 1);
    MU_TRY(reader.read(row_index(tensor, element / row) + column * stride, stride, count,
                       [&](u64 i, const std::byte* bytes) { place(element + i, bytes); }));
    element += count;
  }
  return {};
}

}  // namespace modelutils::pytorch

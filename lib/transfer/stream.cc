#include "transfer/stream.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/log.h"
#include "base/parallel.h"
#include "io/write_back.h"

namespace modelutils {

namespace {

constexpr std::size_t most_open = 16;      // outputs
constexpr u64 chunk_bytes = u64{1} << 20;  // of the first part: fits the L2 cache together with its input

struct Chunk {
  std::size_t tensor;
  u64 first;
  u64 count;
  bool is_last;  // of its tensor
};

std::vector<Chunk> make_chunks(std::span<const StreamTensor> tensors) {
  std::vector<Chunk> chunks;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const StreamTensor& tensor = tensors[i];
    const u64 granule_bytes = std::max<u64>(tensor.parts[0].row_bytes * tensor.granule, 1);
    u64 step = std::max<u64>(chunk_bytes / granule_bytes, 1) * tensor.granule;
    if (tensor.chunk_rows > 0) step = tensor.chunk_rows;
    for (u64 first = 0; first < tensor.rows; first += step) {
      const u64 count = std::min(step, tensor.rows - first);
      chunks.push_back({i, first, count, first + count == tensor.rows});
    }
  }
  return chunks;
}

class Streamer {
 public:
  Streamer(std::span<const StreamFile> files, std::span<const StreamTensor> tensors, unsigned threads,
           const EncodeRows& encode, Progress& progress)
      : files_(files),
        tensors_(tensors),
        encode_(encode),
        progress_(progress),
        chunks_(make_chunks(tensors)),
        chunk_errors_(chunks_.size()),
        done_(chunks_.size(), false),
        errors_(tensors.size()),
        buffers_(std::max(threads, 1u)) {}

  Result<std::vector<MeasuredError>> stream() {
    const bool is_pipe = files_.size() == 1 && !files_.front().output->is_seekable();
    MU_TRY(is_pipe ? stream_to_pipe() : stream_to_files());
    return std::move(errors_);
  }

 private:
  using Buffers = std::array<std::vector<std::byte>, max_parts>;

  unsigned threads() const { return static_cast<unsigned>(buffers_.size()); }

  Result<EncodedParts> encode(u64 item, Buffers& buffers, unsigned thread) {
    const Chunk& chunk = chunks_[item];
    const StreamTensor& tensor = tensors_[chunk.tensor];
    EncodedParts out;
    for (std::size_t p = 0; p < max_parts; ++p) {
      const auto bytes = static_cast<std::size_t>(chunk.count * tensor.parts[p].row_bytes);
      if (buffers[p].size() < bytes) buffers[p].resize(bytes);
      out[p] = {buffers[p].data(), bytes};
    }
    MeasuredError* error = tensor.is_measured ? &chunk_errors_[item] : nullptr;
    MU_TRY(encode_(chunk.tensor, chunk.first, chunk.count, out, thread, error));
    return out;
  }

  Status write_header(const StreamFile& file) {
    progress_.advance(file.header.size());
    return file.output->append(std::as_bytes(std::span(file.header)));
  }

  // Not all files need be open at once: there may be more of them than the system lets a process open.
  Status stream_to_files() {
    for (const StreamFile& file : files_) write_back_.push_back(std::make_unique<WriteBack>(*file.output));
    for (std::size_t first = 0; first < files_.size(); first += most_open) {
      const std::size_t end = std::min(first + most_open, files_.size());
      for (std::size_t i = first; i < end; ++i) {
        MU_TRY(files_[i].output->resume());
        MU_TRY(write_header(files_[i]));
        MU_TRY(files_[i].output->set_size(files_[i].size));
      }
      MU_TRY(write_chunks(first_chunk_of(first), first_chunk_of(end)));
      if (files_.size() <= most_open) continue;
      for (std::size_t i = first; i < end; ++i) MU_TRY(files_[i].output->finish());
    }
    return {};
  }

  std::size_t first_chunk_of(std::size_t file) const {
    const auto is_before = [&](const Chunk& chunk) { return tensors_[chunk.tensor].file < file; };
    return static_cast<std::size_t>(std::partition_point(chunks_.begin(), chunks_.end(), is_before) - chunks_.begin());
  }

  Status write_chunks(std::size_t begin, std::size_t end) {
    return parallel_for(end - begin, threads(), [&](u64 number, unsigned thread) -> Status {
      const u64 item = begin + number;
      const Chunk& chunk = chunks_[item];
      const StreamTensor& tensor = tensors_[chunk.tensor];
      MU_ASSIGN(const EncodedParts parts, encode(item, buffers_[thread], thread));
      for (std::size_t p = 0; p < max_parts; ++p) {
        if (parts[p].empty()) continue;
        const StreamTensor::Part& part = tensor.parts[p];
        MU_TRY(files_[tensor.file].output->write_at(part.offset + chunk.first * part.row_bytes, parts[p]));
        progress_.advance(parts[p].size());
      }
      return finished(item);
    });
  }

  // Chunks finish in any order; write-back wants to know how far the beginning of each file is whole, and sums of
  // doubles depend on their order.
  Status finished(u64 item) {
    std::size_t file = 0;
    u64 end = 0;
    {
      const std::lock_guard lock(mutex_);
      done_[item] = true;
      for (; next_ < done_.size() && done_[next_]; ++next_) add_error(next_);
      if (next_ == 0) return {};
      const Chunk& last = chunks_[next_ - 1];
      const StreamTensor& tensor = tensors_[last.tensor];
      file = tensor.file;
      end =
          last.is_last ? tensor.end() : tensor.parts[0].offset + (last.first + last.count) * tensor.parts[0].row_bytes;
    }
    return write_back_[file]->reached(end);
  }

  void add_error(std::size_t item) { errors_[chunks_[item].tensor].add(chunk_errors_[item]); }

  // A batch is encoded by all threads, then written.
  Status stream_to_pipe() {
    AtomicOutput& output = *files_.front().output;
    MU_TRY(write_header(files_.front()));
    const std::vector<std::byte> zeros(4096);
    const auto pad_to = [&](u64 offset) -> Status {
      while (output.appended() < offset) {
        MU_TRY(output.append(Bytes(zeros).first(std::min<u64>(zeros.size(), offset - output.appended()))));
      }
      return {};
    };
    const std::size_t batch = std::size_t{2} * threads();
    std::vector<Buffers> buffers(batch);
    std::vector<EncodedParts> encoded(batch);
    for (std::size_t start = 0; start < chunks_.size(); start += batch) {
      const std::size_t count = std::min(batch, chunks_.size() - start);
      MU_TRY(parallel_for(count, threads(), [&](u64 i, unsigned thread) -> Status {
        MU_ASSIGN(encoded[i], encode(start + i, buffers[i], thread));
        return {};
      }));
      for (std::size_t i = 0; i < count; ++i) {
        const Chunk& chunk = chunks_[start + i];
        const StreamTensor::Part& part = tensors_[chunk.tensor].parts[0];
        MU_TRY(pad_to(part.offset + chunk.first * part.row_bytes));
        MU_TRY(output.append(encoded[i][0]));
        progress_.advance(encoded[i][0].size());
        add_error(start + i);
      }
    }
    return pad_to(files_.front().size);
  }

  std::span<const StreamFile> files_;
  std::span<const StreamTensor> tensors_;
  const EncodeRows& encode_;
  Progress& progress_;
  const std::vector<Chunk> chunks_;
  std::vector<MeasuredError> chunk_errors_;
  std::vector<bool> done_;
  std::size_t next_ = 0;
  std::vector<MeasuredError> errors_;
  std::vector<Buffers> buffers_;
  std::vector<std::unique_ptr<WriteBack>> write_back_;
  std::mutex mutex_;
};

}  // namespace

u64 StreamTensor::end() const {
  u64 end = 0;
  for (const Part& part : parts) end = std::max(end, part.offset + rows * part.row_bytes);
  return end;
}

Result<std::vector<MeasuredError>> stream_tensors(std::span<const StreamFile> files,
                                                  std::span<const StreamTensor> tensors, unsigned threads,
                                                  const EncodeRows& encode, Progress& progress) {
  const LogStep step("writing the tensors");
  return Streamer(files, tensors, threads, encode, progress).stream();
}

}  // namespace modelutils

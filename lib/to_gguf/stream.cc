#include "to_gguf/stream.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/log.h"
#include "base/parallel.h"
#include "io/write_back.h"

namespace modelutils::to_gguf {

namespace {

constexpr u64 chunk_bytes = u64{1} << 20;  // of output: fits the L2 cache together with its input

struct Chunk {
  std::size_t tensor;
  u64 first;
  u64 count;
  u64 offset;  // in the output file
  u64 bytes;
};

std::vector<Chunk> make_chunks(const std::vector<StreamTensor>& tensors) {
  std::vector<Chunk> chunks;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const StreamTensor& tensor = tensors[i];
    const u64 granule_bytes = std::max<u64>(tensor.row_bytes * tensor.granule, 1);
    const u64 rows = std::max<u64>(chunk_bytes / granule_bytes, 1) * tensor.granule;
    for (u64 first = 0; first < tensor.rows; first += rows) {
      const u64 count = std::min(rows, tensor.rows - first);
      chunks.push_back({i, first, count, tensor.offset + first * tensor.row_bytes, count * tensor.row_bytes});
    }
  }
  return chunks;
}

// Chunks finish in any order; write-back wants to know how far the beginning of the file is whole.
class FinishedChunks {
 public:
  explicit FinishedChunks(const std::vector<Chunk>& chunks) : chunks_(chunks), done_(chunks.size(), false) {}

  /// Marks one; the position before which everything is written.
  u64 add(std::size_t chunk) {
    const std::lock_guard lock(mutex_);
    done_[chunk] = true;
    while (next_ < done_.size() && done_[next_]) ++next_;
    return next_ == 0 ? 0 : chunks_[next_ - 1].offset + chunks_[next_ - 1].bytes;
  }

 private:
  const std::vector<Chunk>& chunks_;
  std::mutex mutex_;
  std::vector<bool> done_;
  std::size_t next_ = 0;
};

Status stream_to_file(AtomicOutput& output, const gguf::OutLayout& layout, const std::vector<Chunk>& chunks,
                      unsigned threads, const EncodeRows& encode, Progress& progress) {
  MU_TRY(output.set_size(layout.file_size));
  FinishedChunks finished(chunks);
  WriteBack write_back(output);
  std::vector<std::vector<std::byte>> buffers(threads);
  return parallel_for(chunks.size(), threads, [&](u64 item, unsigned thread) -> Status {
    const Chunk& chunk = chunks[item];
    std::vector<std::byte>& buffer = buffers[thread];
    if (buffer.size() < chunk.bytes) buffer.resize(chunk.bytes);
    const MutableBytes out(buffer.data(), chunk.bytes);
    MU_TRY(encode(chunk.tensor, chunk.first, chunk.count, out, thread));
    MU_TRY(output.write_at(chunk.offset, out));
    progress.advance(chunk.bytes);
    return write_back.reached(finished.add(item));
  });
}

// A pipe takes bytes in order: a batch is encoded by all threads, then written.
Status stream_to_pipe(AtomicOutput& output, const gguf::OutLayout& layout, const std::vector<Chunk>& chunks,
                      unsigned threads, const EncodeRows& encode, Progress& progress) {
  const std::vector<std::byte> zeros(static_cast<std::size_t>(layout.alignment));
  const auto pad_to = [&](u64 offset) -> Status {
    while (output.appended() < offset) {
      MU_TRY(output.append(Bytes(zeros).first(std::min<u64>(zeros.size(), offset - output.appended()))));
    }
    return {};
  };
  const std::size_t batch = std::size_t{2} * threads;
  std::vector<std::vector<std::byte>> buffers(batch);
  for (std::size_t start = 0; start < chunks.size(); start += batch) {
    const std::size_t count = std::min(batch, chunks.size() - start);
    MU_TRY(parallel_for(count, threads, [&](u64 item, unsigned thread) -> Status {
      const Chunk& chunk = chunks[start + item];
      buffers[item].resize(chunk.bytes);
      return encode(chunk.tensor, chunk.first, chunk.count, buffers[item], thread);
    }));
    for (std::size_t i = 0; i < count; ++i) {
      MU_TRY(pad_to(chunks[start + i].offset));
      MU_TRY(output.append(buffers[i]));
      progress.advance(chunks[start + i].bytes);
    }
  }
  return pad_to(layout.file_size);
}

}  // namespace

Status stream_gguf(AtomicOutput& output, const gguf::OutLayout& layout, const std::vector<StreamTensor>& tensors,
                   unsigned threads, const EncodeRows& encode, Progress& progress) {
  const LogStep step("writing the tensors");
  threads = std::max(threads, 1u);
  const std::vector<Chunk> chunks = make_chunks(tensors);
  MU_TRY(output.append(std::as_bytes(std::span(layout.header))));
  progress.advance(layout.header.size());
  return output.is_seekable() ? stream_to_file(output, layout, chunks, threads, encode, progress)
                              : stream_to_pipe(output, layout, chunks, threads, encode, progress);
}

}  // namespace modelutils::to_gguf

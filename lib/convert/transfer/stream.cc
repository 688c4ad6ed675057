#include "convert/transfer/stream.h"

#include <algorithm>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <numeric>
#include <utility>

#include "base/log.h"
#include "base/parallel.h"
#include "io/copy_range.h"
#include "tensor/value_sums.h"

namespace modelutils {

namespace {

constexpr std::size_t most_open = 16;      // output files
constexpr u64 chunk_bytes = u64{1} << 20;  // bytes of the first part: fits the L2 cache together with its input
constexpr u64 copied_bytes = u64{8} << 20;

struct Chunk {
  std::size_t tensor;
  u64 first;
  u64 count;
  bool is_last;  // of its tensor
};

// Divides bytes that are copied at multiples of the step in the output, so that whole blocks can be shared. If the
// bytes lie in their blocks as in the source, those before the first whole block are a chunk of their own: a range that
// begins within a block is not shared.
void add_copies(std::vector<Chunk>& chunks, std::size_t number, const StreamTensor& tensor, u64 from, bool is_pipe) {
  const u64 step = is_pipe ? chunk_bytes : copied_bytes;
  const u64 begin = tensor.parts[0].offset;
  const bool may_share = begin % shared_block_bytes == from % shared_block_bytes && tensor.rows > chunk_bytes;
  for (u64 first = 0; first < tensor.rows;) {
    const bool is_within_block = may_share && !is_pipe && (begin + first) % shared_block_bytes != 0;
    const u64 next = is_within_block ? shared_block_bytes : step;
    const u64 count = std::min(next - (begin + first) % next, tensor.rows - first);
    chunks.push_back({number, first, count, first + count == tensor.rows});
    first += count;
  }
}

std::vector<Chunk> make_chunks(std::span<const StreamTensor> tensors, std::span<const CopiedFrom> copied,
                               bool is_pipe) {
  std::vector<Chunk> chunks;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const StreamTensor& tensor = tensors[i];
    if (!copied.empty() && copied[i].file != nullptr) {
      add_copies(chunks, i, tensor, copied[i].offset, is_pipe);
      continue;
    }
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

std::vector<std::size_t> in_order_of_place(std::span<const StreamTensor> tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return std::pair(tensors[i].file, tensors[i].parts[0].offset); });
  return order;
}

// Lets threads pass one at a time, in the order of their chunks.
class Turnstile {
 public:
  // Calls `pass` for chunk `item` after all earlier ones have passed; returns without calling it after fail().
  template <typename Pass>
  Status in_turn(u64 item, Pass&& pass) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return next_ == item || has_failed_; });
      if (has_failed_) return {};  // the failing thread reports the error
    }
    MU_TRY(pass());
    const std::lock_guard lock(mutex_);
    ++next_;
    changed_.notify_all();
    return {};
  }
  void fail() {
    const std::lock_guard lock(mutex_);
    has_failed_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  u64 next_ = 0;
  bool has_failed_ = false;
};

class Streamer {
 public:
  Streamer(std::span<const StreamFile> files, std::span<const StreamTensor> tensors, unsigned threads,
           const EncodeRows& encode, Progress& progress, std::span<const WatchRows> watchers, const TakeRows& take,
           std::span<const CopiedFrom> copied)
      : files_(files),
        tensors_(tensors),
        copied_(copied),
        encode_(encode),
        progress_(progress),
        watchers_(watchers),
        take_(take),
        is_pipe_(files.size() == 1 && files.front().output != nullptr && !files.front().output->is_seekable()),
        chunks_(make_chunks(tensors, copied, is_pipe_)),
        chunk_errors_(chunks_.size()),
        done_(chunks_.size(), false),
        errors_(tensors.size()),
        by_place_(in_order_of_place(tensors)),
        is_whole_(tensors.size(), false),
        buffers_(std::max(threads, 1u)),
        turnstiles_(watchers.size()) {}

  Result<std::vector<ValueSums>> stream() {
    if (!is_pipe_) {
      MU_TRY(stream_to_files());
      return std::move(errors_);
    }
    MU_TRY(write_header(files_.front()));
    MU_TRY(process_all(0, chunks_.size()));
    MU_TRY(pad_to(files_.front().size));
    return std::move(errors_);
  }

 private:
  using Buffers = std::array<std::vector<std::byte>, max_parts>;

  // Runs a function at the end of a scope, also after an error or exception.
  template <typename Function>
  struct Cleanup {
    explicit Cleanup(Function what) : function(std::move(what)) {}
    ~Cleanup() { function(); }
    Cleanup(const Cleanup&) = delete;
    Cleanup& operator=(const Cleanup&) = delete;
    Function function;
  };

  unsigned threads() const { return static_cast<unsigned>(buffers_.size()); }

  // Releases threads that wait for a chunk that will never arrive.
  void fail() {
    taken_turnstile_.fail();
    for (Turnstile& turnstile : turnstiles_) turnstile.fail();
    pipe_turnstile_.fail();
  }

  Status write_header(const StreamFile& file) {
    progress_.advance(file.header.size());
    return file.output == nullptr ? Status() : file.output->append(std::as_bytes(std::span(file.header)));
  }

  // Limits the number of open files, because there may be more than a process can open.
  Status stream_to_files() {
    for (const StreamFile& file : files_) {
      write_back_.push_back(file.output == nullptr ? nullptr : std::make_unique<WriteBack>(*file.output));
    }
    for (std::size_t first = 0; first < files_.size(); first += most_open) {
      const std::span<const StreamFile> open = files_.subspan(first, std::min(most_open, files_.size() - first));
      for (const StreamFile& file : open) {
        if (file.output != nullptr) MU_TRY(file.output->resume());
        MU_TRY(write_header(file));
        if (file.output != nullptr) MU_TRY(file.output->set_size(file.size));
      }
      MU_TRY(process_all(first_chunk_of(first), first_chunk_of(first + open.size())));
      if (files_.size() <= most_open) continue;
      for (const StreamFile& file : open) {
        if (file.output != nullptr) MU_TRY(file.output->finish());
      }
    }
    return {};
  }

  std::size_t first_chunk_of(std::size_t file) const {
    const auto is_before = [&](const Chunk& chunk) { return tensors_[chunk.tensor].file < file; };
    return static_cast<std::size_t>(std::partition_point(chunks_.begin(), chunks_.end(), is_before) - chunks_.begin());
  }

  Status process_all(std::size_t begin, std::size_t end) {
    return parallel_for(end - begin, threads(), [&](u64 number, unsigned thread) -> Status {
      bool is_done = false;
      const Cleanup cleanup([&] {
        if (!is_done) fail();
      });
      MU_TRY(process(begin + number, thread));
      is_done = true;
      return {};
    });
  }

  Status process(u64 item, unsigned thread) {
    const std::size_t tensor = chunks_[item].tensor;
    if (is_copied(tensor) && !is_pipe_) {
      MU_TRY(copy(chunks_[item]));
      return finished(item);
    }
    if (take_) {
      bool is_taken = false;
      MU_TRY(taken_turnstile_.in_turn(item, [&]() -> Status {
        Status taken = take_(tensor, chunks_[item].first, chunks_[item].count, thread);
        is_taken = taken.has_value();
        return taken;
      }));
      if (!is_taken) return {};  // the failing thread reports the error
    }
    MU_ASSIGN(const EncodedParts parts, encode(item, buffers_[thread], thread));
    if (!is_pipe_) MU_TRY(write_in_place(item, parts));
    for (std::size_t i = 0; i < watchers_.size(); ++i) {
      MU_TRY(turnstiles_[i].in_turn(item, [&]() -> Status {
        watchers_[i](tensor, parts[0]);
        return {};
      }));
    }
    if (!is_pipe_) return finished(item);
    return pipe_turnstile_.in_turn(item, [&] { return write_in_order(item, parts[0]); });
  }

  bool is_copied(std::size_t tensor) const { return !copied_.empty() && copied_[tensor].file != nullptr; }

  Status copy(const Chunk& chunk) {
    const StreamTensor& tensor = tensors_[chunk.tensor];
    const CopiedFrom& from = copied_[chunk.tensor];
    MU_TRY(copy_range_to(*from.file, from.offset + chunk.first, chunk.count, *files_[tensor.file].output,
                         tensor.parts[0].offset + chunk.first));
    progress_.advance(chunk.count);
    return {};
  }

  Result<EncodedParts> encode(u64 item, Buffers& buffers, unsigned thread) {
    const Chunk& chunk = chunks_[item];
    const StreamTensor& tensor = tensors_[chunk.tensor];
    EncodedParts out;
    for (std::size_t p = 0; p < max_parts; ++p) {
      const auto bytes = static_cast<std::size_t>(chunk.count * tensor.parts[p].row_bytes);
      if (buffers[p].size() < bytes) buffers[p].resize(bytes);
      out[p] = {buffers[p].data(), bytes};
    }
    if (is_copied(chunk.tensor)) {
      MU_TRY(copied_[chunk.tensor].file->read_exact(copied_[chunk.tensor].offset + chunk.first, out[0]));
      return out;
    }
    ValueSums* error = tensor.is_measured ? &chunk_errors_[item] : nullptr;
    MU_TRY(encode_(chunk.tensor, chunk.first, chunk.count, out, thread, error));
    return out;
  }

  Status write_in_place(u64 item, const EncodedParts& parts) {
    const Chunk& chunk = chunks_[item];
    const StreamTensor& tensor = tensors_[chunk.tensor];
    AtomicOutput* output = files_[tensor.file].output;
    for (std::size_t p = 0; p < max_parts; ++p) {
      if (parts[p].empty()) continue;
      const StreamTensor::Part& part = tensor.parts[p];
      if (output != nullptr && !tensor.is_zero) {
        MU_TRY(output->write_at(part.offset + chunk.first * part.row_bytes, parts[p]));
      }
      progress_.advance(parts[p].size());
    }
    return {};
  }

  // Chunks finish in any order, and tensors may not be in file order. Write-back needs the contiguous finished part of
  // each file, and sums of doubles must be added in a fixed order.
  Status finished(u64 item) {
    std::size_t file = 0;
    u64 end = 0;
    {
      const std::lock_guard lock(mutex_);
      done_[item] = true;
      for (; next_ < done_.size() && done_[next_]; ++next_) {
        add_error(next_);
        if (chunks_[next_].is_last) is_whole_[chunks_[next_].tensor] = true;
      }
      if (next_ == 0) return {};
      while (whole_ < by_place_.size() && (is_whole_[by_place_[whole_]] || tensors_[by_place_[whole_]].rows == 0)) {
        ++whole_;
      }
      const Chunk& last = chunks_[next_ - 1];
      if (whole_ < by_place_.size() && by_place_[whole_] == last.tensor) {
        const StreamTensor& tensor = tensors_[last.tensor];
        file = tensor.file;
        end = tensor.parts[0].offset + (last.first + last.count) * tensor.parts[0].row_bytes;
      } else if (whole_ > 0) {
        const StreamTensor& tensor = tensors_[by_place_[whole_ - 1]];
        file = tensor.file;
        end = tensor.end();
      } else {
        return {};
      }
    }
    return write_back_[file] == nullptr ? Status() : write_back_[file]->reached(end);
  }

  void add_error(std::size_t item) { errors_[chunks_[item].tensor].add(chunk_errors_[item]); }

  Status write_in_order(u64 item, Bytes bytes) {
    const Chunk& chunk = chunks_[item];
    const StreamTensor::Part& part = tensors_[chunk.tensor].parts[0];
    MU_TRY(pad_to(part.offset + chunk.first * part.row_bytes));
    MU_TRY(files_.front().output->append(bytes));
    progress_.advance(bytes.size());
    add_error(item);
    return {};
  }

  Status pad_to(u64 offset) {
    static constexpr std::array<std::byte, 4096> zeros{};
    AtomicOutput& output = *files_.front().output;
    while (output.appended() < offset) {
      MU_TRY(output.append(Bytes(zeros).first(std::min<u64>(zeros.size(), offset - output.appended()))));
    }
    return {};
  }

  std::span<const StreamFile> files_;
  std::span<const StreamTensor> tensors_;
  std::span<const CopiedFrom> copied_;
  const EncodeRows& encode_;
  Progress& progress_;
  std::span<const WatchRows> watchers_;
  const TakeRows& take_;
  const bool is_pipe_;
  const std::vector<Chunk> chunks_;
  std::vector<ValueSums> chunk_errors_;
  std::vector<bool> done_;
  std::size_t next_ = 0;
  std::vector<ValueSums> errors_;
  const std::vector<std::size_t> by_place_;  // tensor indices in file order
  std::vector<bool> is_whole_;               // by tensor
  std::size_t whole_ = 0;                    // number of leading entries of by_place_ that are complete
  std::vector<Buffers> buffers_;
  std::vector<std::unique_ptr<WriteBack>> write_back_;
  std::mutex mutex_;
  Turnstile taken_turnstile_;
  std::vector<Turnstile> turnstiles_;
  Turnstile pipe_turnstile_;
};

}  // namespace

Status check_pipe_order(std::span<const std::size_t> reading, const std::string& input,
                        const std::function<std::string_view(std::size_t)>& name_of) {
  const auto behind = std::ranges::adjacent_find(reading, std::greater<>());
  if (behind == reading.end()) return {};
  return input_error("io-pipe",
                     fmt::format("delivers {} before {}, but the output needs the opposite order: write to a file (-o "
                                 "FILE), or save the input to a file first",
                                 name_of(behind[0]), name_of(behind[1])),
                     {}, {}, input);
}

u64 StreamTensor::end() const {
  u64 end = 0;
  for (const Part& part : parts) end = std::max(end, part.offset + rows * part.row_bytes);
  return end;
}

Result<std::vector<ValueSums>> stream_tensors(std::span<const StreamFile> files, std::span<const StreamTensor> tensors,
                                              unsigned threads, const EncodeRows& encode, Progress& progress,
                                              std::span<const WatchRows> watchers, const TakeRows& take) {
  const LogStep step("writing the tensors");
  return Streamer(files, tensors, threads, encode, progress, watchers, take, {}).stream();
}

Result<std::vector<ValueSums>> stream_tensors(std::span<const StreamFile> files, std::span<const StreamTensor> tensors,
                                              std::span<const CopiedFrom> copied, unsigned threads,
                                              const EncodeRows& encode, Progress& progress) {
  const LogStep step("writing the tensors");
  const TakeRows none;
  return Streamer(files, tensors, threads, encode, progress, {}, none, copied).stream();
}

}  // namespace modelutils

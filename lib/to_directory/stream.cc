#include "to_directory/stream.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>

#include "base/log.h"
#include "base/parallel.h"
#include "io/write_back.h"

namespace modelutils::to_directory {

namespace {

constexpr u64 row_chunk_bytes = u64{1} << 20;  // of packed words or values

struct RowChunk {
  std::size_t module;
  u64 first;
  u64 count;
  bool is_last;  // of its module
};

std::vector<RowChunk> row_chunks(const DirectoryPlan& plan) {
  std::vector<RowChunk> chunks;
  for (std::size_t i = 0; i < plan.modules.size(); ++i) {
    const DirectoryTensor& tensor = plan.map.tensors[i];
    const u64 rows = tensor.rows();
    u64 step = std::max<u64>(row_chunk_bytes / std::max<u64>(plan.modules[i].row.weight, 1), 1);
    if (tensor.by_element) step = rows_at_once(tensor);
    for (u64 first = 0; first < rows; first += step) {
      const u64 count = std::min(step, rows - first);
      chunks.push_back({i, first, count, first + count == rows});
    }
  }
  return chunks;
}

class DirectoryStreamer {
 public:
  DirectoryStreamer(DirectoryPlan& plan, std::vector<AtomicOutput>& files, unsigned threads, Progress& progress)
      : plan_(plan),
        files_(files),
        progress_(progress),
        chunks_(row_chunks(plan)),
        done_(chunks_.size(), false),
        errors_(plan.modules.size()),
        workers_(threads) {
    for (AtomicOutput& file : files) write_back_.push_back(std::make_unique<WriteBack>(file));
  }

  Status stream() {
    for (std::size_t f = 0; f < files_.size(); ++f) {
      const safetensors::OutLayout& layout = plan_.shards[f].layout;
      MU_TRY(files_[f].append(std::as_bytes(std::span(layout.header))));
      MU_TRY(files_[f].set_size(layout.file_size));
      progress_.advance(layout.header.size());
    }
    const auto threads = static_cast<unsigned>(workers_.size());
    MU_TRY(parallel_for(chunks_.size(), threads, [&](u64 item, unsigned thread) { return write(item, thread); }));
    report_errors();
    return {};
  }

 private:
  struct Worker {
    std::size_t module = ~std::size_t{0};
    std::unique_ptr<DirectoryEncoder> encoder;
    EncodedRows rows;
  };

  Status write(u64 item, unsigned thread) {
    const RowChunk& chunk = chunks_[item];
    const PlannedModule& module = plan_.modules[chunk.module];
    Worker& worker = workers_[thread];
    if (worker.module != chunk.module) {
      worker.encoder =
          std::make_unique<DirectoryEncoder>(plan_.catalog, plan_.map.tensors[chunk.module], plan_.forms[chunk.module]);
      worker.module = chunk.module;
    }
    MeasuredError error;
    const bool measures = !plan_.forms[chunk.module].exact;
    MU_TRY(worker.encoder->encode(chunk.first, chunk.count, worker.rows, measures ? &error : nullptr));
    const AtomicOutput& file = files_[module.shard];
    const EncodedRows& rows = worker.rows;
    MU_TRY(file.write_at(module.offsets[0] + chunk.first * module.row.weight, rows.weight));
    if (!rows.scales.empty()) MU_TRY(file.write_at(module.offsets[1] + chunk.first * module.row.scales, rows.scales));
    if (!rows.biases.empty()) MU_TRY(file.write_at(module.offsets[2] + chunk.first * module.row.biases, rows.biases));
    progress_.advance(rows.weight.size() + rows.scales.size() + rows.biases.size());
    return finished(item, measures ? &error : nullptr);
  }

  // Chunks finish in any order; write-back wants to know how far the beginning of each file is whole.
  Status finished(u64 item, const MeasuredError* error) {
    std::size_t shard = 0;
    u64 end = 0;
    {
      const std::lock_guard lock(mutex_);
      if (error != nullptr) errors_[chunks_[item].module].add(*error);
      done_[item] = true;
      while (next_ < done_.size() && done_[next_]) ++next_;
      if (next_ == 0) return {};
      const RowChunk& last = chunks_[next_ - 1];
      const PlannedModule& module = plan_.modules[last.module];
      shard = module.shard;
      end = last.is_last ? module.end : module.offsets[0] + (last.first + last.count) * module.row.weight;
    }
    return write_back_[shard]->reached(end);
  }

  void report_errors() {
    for (std::size_t i = 0; i < errors_.size(); ++i) {
      DirectoryTensorReport& report = plan_.report.tensors[i];
      if (report.exact) continue;
      report.rms = errors_[i].relative_rms();
      report.exact = errors_[i].squared_error == 0 && errors_[i].max_abs == 0;
      if (*report.exact) report.reason.clear();
    }
  }

  DirectoryPlan& plan_;
  std::vector<AtomicOutput>& files_;
  Progress& progress_;
  const std::vector<RowChunk> chunks_;
  std::vector<bool> done_;
  std::size_t next_ = 0;
  std::vector<MeasuredError> errors_;
  std::vector<Worker> workers_;
  std::vector<std::unique_ptr<WriteBack>> write_back_;
  std::mutex mutex_;
};

}  // namespace

Status stream_directory(DirectoryPlan& plan, std::vector<AtomicOutput>& files, unsigned threads, Progress& progress) {
  const LogStep step("writing the tensors");
  return DirectoryStreamer(plan, files, std::max(threads, 1u), progress).stream();
}

}  // namespace modelutils::to_directory

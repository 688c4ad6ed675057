#include "compare/measure.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

#include "base/checked_math.h"
#include "base/parallel.h"

namespace modelutils {

namespace {

constexpr u64 piece_bytes = 512 * 1024;
constexpr u64 piece_elements = 32 * 1024;  // the values of both sides stay in the second-level cache
constexpr u64 some_elements = 4 * 1024;    // and these in the first-level cache
constexpr u64 longest_row = 128 * 1024;
constexpr u64 most_elements = 4 * 1024 * 1024;  // of a piece: memory is bounded
constexpr std::size_t most_rows = 3;

bool same_stored(const StoredRows& a, const StoredRows& b) {
  // Not std::equal, which takes std::byte one at a time.
  const auto same = [](const std::vector<std::byte>& x, const std::vector<std::byte>& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
  };
  return same(a.values, b.values) && same(a.scales, b.scales) && same(a.biases, b.biases);
}

u64 stored_bytes(const StoredRows& rows) {
  return rows.values.size() + rows.scales.size() + rows.biases.size();
}

// A pair while it is measured, in pieces that both sides can be read in.
struct Job {
  std::unique_ptr<TensorValues> a, b;
  u64 columns = 1;
  u64 granule = 1;  // elements: whole units of both, and whole rows if `has_rows`
  u64 piece = 1;    // elements, a multiple of it
  bool has_rows = false;
  std::atomic<bool> differs{false};

  u64 pieces() const { return (a->elements() + piece - 1) / piece; }
};

struct Scratch {
  StoredRows a, b;
  std::vector<float> values_a, values_b;
};

struct Piece {
  Measurement part;
  std::vector<RowError> rows;
};

void keep_worst(std::vector<RowError>& rows) {
  const auto is_worse = [](const RowError& x, const RowError& y) {
    return x.rms != y.rms ? x.rms > y.rms : x.row < y.row;
  };
  const std::size_t kept = std::min(rows.size(), most_rows);
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(), is_worse);
  rows.resize(kept);
}

class Measurer {
 public:
  Measurer(std::span<const ValuePair> pairs, const MeasureOptions& options)
      : options_(options), jobs_(pairs.size()), results_(pairs.size()), scratch_(options.threads) {
    for (std::size_t i = 0; i < pairs.size(); ++i) open(pairs[i], i);
  }

  std::vector<Measurement> run() {
    compare_bytes();
    compare_values();
    return std::move(results_);
  }

 private:
  void open(const ValuePair& pair, std::size_t i) {
    Job& job = jobs_[i];
    job.a = pair.a();
    job.b = pair.b();
    job.columns = std::max<u64>(pair.columns, 1);
    results_[i].elements = job.a->elements();
    if (job.a->elements() == 0) {
      results_[i].equal_bytes = job.a->storage() == job.b->storage();
      results_[i].decoded = !results_[i].equal_bytes;
      return;
    }
    const auto common = [](u64 x, u64 y) { return checked_mul(x / std::gcd(x, y), y).value_or(~u64{0}); };
    job.granule = common(job.a->unit(), job.b->unit());
    if (job.granule > most_elements) {
      results_[i].problem = "the rows are too long to be compared";
      return;
    }
    if (const u64 rows = common(job.granule, job.columns); rows <= longest_row) {
      job.granule = rows;
      job.has_rows = true;
    }
  }

  // Whether there is something left to do for a pair.
  bool is_open(std::size_t i) const {
    return jobs_[i].a->elements() > 0 && results_[i].problem.empty() && !results_[i].equal_bytes;
  }

  // Calls work(job, piece, thread) for every piece of the chosen jobs, in order of claim.
  template <typename Work>
  void for_pieces(const std::vector<std::size_t>& chosen, Work&& work) {
    std::vector<u64> first{0};  // number of each job's first piece
    for (const std::size_t i : chosen) first.push_back(first.back() + jobs_[i].pieces());
    (void)parallel_for(first.back(), options_.threads, [&](u64 item, unsigned thread) -> Status {
      const auto next = std::ranges::upper_bound(first, item);
      const auto place = static_cast<std::size_t>(next - first.begin()) - 1;
      work(chosen[place], item - first[place], thread);
      return {};
    });
  }

  // Reads a piece of both sides; false if that failed, which is kept.
  bool read(std::size_t i, u64 piece, Scratch& scratch, u64& elements) {
    Job& job = jobs_[i];
    const u64 begin = piece * job.piece;
    elements = std::min(job.piece, job.a->elements() - begin);
    const auto fill = [&](const TensorValues& side, StoredRows& out) {
      return side.read(begin / side.unit(), elements / side.unit(), out);
    };
    Status done = fill(*job.a, scratch.a);
    if (done) done = fill(*job.b, scratch.b);
    if (done) {
      if (options_.progress != nullptr) options_.progress->advance(stored_bytes(scratch.a) + stored_bytes(scratch.b));
      return true;
    }
    const std::lock_guard lock(mutex_);
    if (!results_[i].error) {
      results_[i].problem = done.error().message;
      results_[i].error = std::move(done.error());
    }
    return false;
  }

  void compare_bytes() {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      Job& job = jobs_[i];
      if (!is_open(i) || job.a->storage() != job.b->storage()) continue;
      const TypeInfo& type = type_info(job.a->storage().type);
      const u64 wanted =
          job.a->storage().packing ? 16 * piece_elements : piece_bytes / type.block_bytes * type.block_elements;
      job.piece = std::max<u64>(wanted / job.granule, 1) * job.granule;
      chosen.push_back(i);
    }
    for_pieces(chosen, [&](std::size_t i, u64 piece, unsigned thread) {
      Job& job = jobs_[i];
      if (job.differs) return;
      Scratch& scratch = scratch_[thread];
      u64 elements = 0;
      if (!read(i, piece, scratch, elements) || !same_stored(scratch.a, scratch.b)) job.differs = true;
    });
    for (const std::size_t i : chosen) results_[i].equal_bytes = !jobs_[i].differs;
  }

  void compare_values() {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      Job& job = jobs_[i];
      if (!is_open(i)) continue;
      if (!job.a->can_decode() || !job.b->can_decode()) {
        results_[i].problem = "the bytes differ, and values of this type cannot be decoded";
        continue;
      }
      job.piece = std::max<u64>(piece_elements / job.granule, 1) * job.granule;
      results_[i].decoded = true;
      chosen.push_back(i);
    }
    u64 number = 0;
    std::vector<u64> first_of(jobs_.size());
    for (const std::size_t i : chosen) {
      first_of[i] = number;
      number += jobs_[i].pieces();
    }
    for_pieces(chosen, [&](std::size_t i, u64 piece, unsigned thread) {
      Piece measured;
      (void)measure_piece(i, piece, scratch_[thread], measured);  // a failure is kept
      add_in_order(i, first_of[i] + piece, std::move(measured));
    });
    for (const std::size_t i : chosen) {
      if (!results_[i].problem.empty()) results_[i].decoded = false;
    }
  }

  bool measure_piece(std::size_t i, u64 piece, Scratch& scratch, Piece& out) {
    const Job& job = jobs_[i];
    u64 elements = 0;
    if (!read(i, piece, scratch, elements)) return false;
    // Rows are added up each by itself, so they may be decoded a few at a time.
    const bool by_rows = job.has_rows && job.a->can_decode_some() && job.b->can_decode_some();
    const u64 some = by_rows ? std::max<u64>(some_elements / job.granule, 1) * job.granule : elements;
    for (u64 first = 0; first < elements; first += some) {
      const u64 count = std::min(some, elements - first);
      scratch.values_a.resize(count);
      scratch.values_b.resize(count);
      const auto decode = [&](const TensorValues& side, const StoredRows& rows, std::vector<float>& values) {
        by_rows ? side.decode_some(rows, first / side.unit(), values) : side.decode(rows, values);
      };
      decode(*job.a, scratch.a, scratch.values_a);
      decode(*job.b, scratch.b, scratch.values_b);
      add_up(job, piece * job.piece + first, scratch.values_a, scratch.values_b, out);
    }
    keep_worst(out.rows);
    return true;
  }

  // Values of a piece from element `begin` of the tensor on; whole rows if there are any.
  static void add_up(const Job& job, u64 begin, std::span<const float> a, std::span<const float> b, Piece& out) {
    const bool were_equal = out.part.sums.different == 0;
    const u64 step = job.has_rows ? job.columns : a.size();
    for (u64 at = 0; at < a.size(); at += step) {
      const ValueSums row = sums_of(a.subspan(at, step), b.subspan(at, step));
      out.part.sums.add(row);
      if (job.has_rows && row.dd > 0) out.rows.push_back({(begin + at) / job.columns, row.rms()});
      if (out.rows.size() > 4096) keep_worst(out.rows);
    }
    if (!were_equal || out.part.sums.different == 0) return;
    const std::size_t place = first_difference(a, b).value_or(0);
    out.part.first = begin + place;
    out.part.first_a = a[place];
    out.part.first_b = b[place];
  }

  // Sums of doubles depend on their order, so pieces are added in the order of the model.
  void add_in_order(std::size_t job, u64 number, Piece piece) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(number, std::pair(job, std::move(piece)));
    for (auto next = waiting_.find(next_); next != waiting_.end(); next = waiting_.find(next_)) {
      auto& [i, done] = next->second;
      Measurement& result = results_[i];
      if (result.sums.different == 0 && done.part.sums.different > 0) {
        result.first = done.part.first;
        result.first_a = done.part.first_a;
        result.first_b = done.part.first_b;
      }
      result.sums.add(done.part.sums);
      result.worst.insert(result.worst.end(), done.rows.begin(), done.rows.end());
      keep_worst(result.worst);
      waiting_.erase(next);
      ++next_;
    }
  }

  const MeasureOptions& options_;
  std::vector<Job> jobs_;
  std::vector<Measurement> results_;
  std::vector<Scratch> scratch_;
  std::mutex mutex_;
  std::map<u64, std::pair<std::size_t, Piece>> waiting_;
  u64 next_ = 0;
};

}  // namespace

std::vector<Measurement> measure(std::span<const ValuePair> pairs, const MeasureOptions& options) {
  return Measurer(pairs, options).run();
}

}  // namespace modelutils

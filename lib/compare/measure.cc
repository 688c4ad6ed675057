#include "compare/measure.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <mutex>
#include <numeric>

#include "base/parallel.h"
#include "base/types.h"

namespace modelutils {

namespace {

constexpr std::size_t most_rows = 3;
constexpr std::size_t rows_in_between = 4096;  // number of rows collected before all but the worst are dropped

}  // namespace

void keep_worst_rows(std::vector<RowError>& rows) {
  const auto is_worse = [](const RowError& x, const RowError& y) {
    return x.rms != y.rms ? x.rms > y.rms : x.row < y.row;
  };
  const std::size_t kept = std::min(rows.size(), most_rows);
  std::partial_sort(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(kept), rows.end(), is_worse);
  rows.resize(kept);
}

void PieceSums::add(std::span<const float> a, std::span<const float> b) {
  while (!a.empty()) {
    const u64 row_end = columns_ == 0 ? begin_ + a.size() : row_start_ + columns_;
    const std::size_t count = std::min<u64>(row_end - begin_, a.size());
    const auto x = a.first(count), y = b.first(count);
    const ValueSums part = sums_of(x, y, std::max(sums_.max_abs, row_.max_abs));
    if (part.different > 0 && sums_.different + row_.different == 0) {
      const std::size_t place = first_difference(x, y).value_or(0);
      first_ = begin_ + place;
      first_a_ = x[place];
      first_b_ = y[place];
    }
    row_.add(part);
    a = a.subspan(count);
    b = b.subspan(count);
    begin_ += count;
    if (begin_ == row_end) end_row();
  }
}

void PieceSums::end_row() {
  sums_.add(row_);
  if (columns_ > 0 && row_.dd > 0) {
    worst_.push_back({row_start_ / columns_, row_.rms()});
    if (worst_.size() >= rows_in_between) keep_worst_rows(worst_);
  }
  row_ = {};
  row_start_ = begin_;
}

void PieceSums::finish() {
  keep_worst_rows(worst_);
}

namespace {

constexpr u64 piece_bytes = 512 * 1024;  // size of a piece that is only compared byte for byte
// Size of a piece that is decoded, both sides together: large enough that reading costs little more than copying, small
// enough for the second-level cache.
constexpr u64 decoded_bytes = 512 * 1024;
constexpr u64 some_elements = 2 * 1024;    // values decoded at a time, which fit in the first-level cache
constexpr u64 whole_elements = 32 * 1024;  // piece size if it must be decoded at once
constexpr u64 longest_row = 128 * 1024;
constexpr u64 elements_per_piece = 4 * 1024 * 1024;  // largest piece, which bounds memory

bool same_stored(const StoredRows& a, const StoredRows& b) {
  // Not std::equal, which compares std::byte one at a time.
  const auto same = [](const std::vector<std::byte>& x, const std::vector<std::byte>& y) {
    return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size()) == 0);
  };
  return std::ranges::equal(a.planes, b.planes, same);
}

// Returns the least common multiple, or the largest u64 if it exceeds 64 bits.
u64 least_common(u64 x, u64 y) {
  return checked_mul(x / std::gcd(x, y), y).value_or(~u64{0});
}

// A pair being measured, in pieces that can be read from both sides.
struct Job {
  std::unique_ptr<TensorValues> a, b;
  u64 columns = 1;
  u64 granule = 1;  // in elements: whole storage units of both, and whole rows if `has_rows`
  u64 piece = 1;    // in elements, a multiple of `granule`
  bool has_rows = false;
  std::atomic<bool> differs{false};
  std::atomic<double> largest{0};  // largest difference so far

  u64 pieces() const { return (a->elements() + piece - 1) / piece; }
};

// True if equal bytes imply equal values. An unknown type can only be compared by its bytes.
bool is_stored_alike(const Job& job) {
  const StoredForm& a = job.a->form();
  const StoredForm& b = job.b->form();
  return a == b || a.kind == FormKind::opaque || b.kind == FormKind::opaque;
}

bool can_decode_some(const Job& job) {
  return job.a->can_decode_some() && job.b->can_decode_some();
}

// Returns about `elements`, rounded down to whole granules (at least one).
u64 whole_granules(const Job& job, u64 elements) {
  return std::max<u64>(elements / job.granule, 1) * job.granule;
}

void raise_to(double value, std::atomic<double>& number) {
  double known = number.load();
  while (known < value && !number.compare_exchange_weak(known, value)) {
  }
}

// Returns how many elements of this form fit in `bytes`; approximate for forms with scales.
u64 elements_in(const StoredForm& form, u64 bytes) {
  const double bits = form_info(form).bits(form);
  if (!form.is_plain()) return bits == 0 ? bytes : static_cast<u64>(static_cast<double>(bytes) * 8 / bits);
  const TypeInfo& type = type_info(form.type());
  return bytes / type.block_bytes * type.block_elements;
}

// A buffer of floats, aligned so that no vector straddles two cache lines.
class ValueBuffer {
 public:
  std::span<float> first(u64 count) {
    if (lines_.size() * Line::count < count) lines_.resize((count + Line::count - 1) / Line::count);
    return {reinterpret_cast<float*>(lines_.data()), count};
  }

 private:
  struct alignas(64) Line {
    static constexpr std::size_t count = 16;
    float values[count];
  };
  std::vector<Line> lines_;
};

struct Scratch {
  StoredRows a, b;
  ValueBuffer values_a, values_b;
};

class Measurer {
 public:
  Measurer(std::span<ValuePair> pairs, const MeasureOptions& options)
      : options_(options), jobs_(pairs.size()), results_(pairs.size()), scratch_(options.threads) {
    for (std::size_t i = 0; i < pairs.size(); ++i) open(pairs[i], i);
  }

  std::vector<Measurement> run() {
    compare_bytes();
    compare_values();
    return std::move(results_);
  }

 private:
  void open(ValuePair& pair, std::size_t i) {
    Job& job = jobs_[i];
    job.a = std::move(pair.a);
    job.b = std::move(pair.b);
    job.columns = std::max<u64>(pair.columns, 1);
    results_[i].elements = job.a->elements();
    if (job.a->elements() != job.b->elements()) {  // possible if the type of one is unknown
      results_[i].problem = "the sizes differ";
      return;
    }
    if (job.a->elements() == 0) {
      results_[i].equal_bytes = job.a->form() == job.b->form();
      results_[i].decoded = !results_[i].equal_bytes;
      return;
    }
    job.granule = least_common(job.a->unit(), job.b->unit());
    if (job.granule > elements_per_piece) {
      results_[i].problem = "the rows are too long to be compared";
      return;
    }
    if (const u64 rows = least_common(job.granule, job.columns); job.columns > 1 && rows <= longest_row) {
      job.granule = rows;
      job.has_rows = true;
    }
  }

  // True if the pair still needs work.
  bool is_open(std::size_t i) const {
    return jobs_[i].a->elements() > 0 && results_[i].problem.empty() && !results_[i].equal_bytes;
  }

  // Calls work(job, piece, thread) for every piece of the chosen jobs; pieces are claimed in order.
  template <typename Work>
  void for_pieces(const std::vector<std::size_t>& chosen, Work&& work) {
    std::vector<u64> first{0};  // the number of each job's first piece
    for (const std::size_t i : chosen) first.push_back(first.back() + jobs_[i].pieces());
    (void)parallel_for(first.back(), options_.threads, [&](u64 item, unsigned thread) -> Status {
      const auto next = std::ranges::upper_bound(first, item);
      const auto place = static_cast<std::size_t>(next - first.begin()) - 1;
      work(chosen[place], item - first[place], thread);
      return {};
    });
  }

  // Reads a piece of both sides. On failure, records the error and returns false.
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
      if (options_.progress != nullptr) options_.progress->advance(scratch.a.bytes() + scratch.b.bytes());
      return true;
    }
    const std::lock_guard lock(mutex_);
    if (!results_[i].error) {
      results_[i].problem = done.error().message;
      results_[i].error = std::make_shared<const Error>(std::move(done.error()));
    }
    return false;
  }

  void compare_bytes() {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      Job& job = jobs_[i];
      if (!is_open(i) || !is_stored_alike(job)) continue;
      job.piece = whole_granules(job, elements_in(job.a->form(), piece_bytes));
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
      const u64 read_at_once =
          std::min(elements_in(job.a->form(), decoded_bytes / 2), elements_in(job.b->form(), decoded_bytes / 2));
      job.piece = whole_granules(job, can_decode_some(job) ? read_at_once : whole_elements);
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
      add_in_order(i, first_of[i] + piece, measure_piece(i, piece, scratch_[thread]));
    });
    for (const std::size_t i : chosen) {
      if (!results_[i].problem.empty()) results_[i].decoded = false;
    }
  }

  // Returns nullopt if reading failed, after recording the error.
  std::optional<PieceSums> measure_piece(std::size_t i, u64 piece, Scratch& scratch) {
    Job& job = jobs_[i];
    u64 elements = 0;
    if (!read(i, piece, scratch, elements)) return std::nullopt;
    PieceSums sums(piece * job.piece, job.has_rows ? job.columns : 0, job.largest.load());
    const bool by_some = can_decode_some(job);
    const u64 unit = least_common(job.a->unit(), job.b->unit());
    const u64 some = by_some ? std::max<u64>(some_elements / unit, 1) * unit : elements;
    for (u64 first = 0; first < elements; first += some) {
      const u64 count = std::min(some, elements - first);
      const auto decode = [&](const TensorValues& side, const StoredRows& rows, ValueBuffer& buffer) {
        const std::span<float> values = buffer.first(count);
        by_some ? side.decode_some(rows, first / side.unit(), values) : side.decode(rows, values);
        return values;
      };
      const std::span<const float> a = decode(*job.a, scratch.a, scratch.values_a);
      const std::span<const float> b = decode(*job.b, scratch.b, scratch.values_b);
      sums.add(a, b);
    }
    sums.finish();
    raise_to(sums.sums().max_abs, job.largest);
    return sums;
  }

  // Sums of doubles depend on their order, so pieces are added in ascending order.
  void add_in_order(std::size_t job, u64 number, std::optional<PieceSums> piece) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace(number, std::pair(job, std::move(piece)));
    for (auto next = waiting_.find(next_); next != waiting_.end(); next = waiting_.find(next_)) {
      const auto& [i, done] = next->second;
      if (done) add(*done, results_[i]);
      waiting_.erase(next);
      ++next_;
    }
  }

  static void add(const PieceSums& piece, Measurement& result) {
    if (result.sums.different == 0 && piece.sums().different > 0) {
      result.first = piece.first();
      result.first_a = piece.first_a();
      result.first_b = piece.first_b();
    }
    result.sums.add(piece.sums());
    result.worst.insert(result.worst.end(), piece.worst_rows().begin(), piece.worst_rows().end());
    keep_worst_rows(result.worst);
  }

  const MeasureOptions& options_;
  std::vector<Job> jobs_;
  std::vector<Measurement> results_;
  std::vector<Scratch> scratch_;
  std::mutex mutex_;
  std::map<u64, std::pair<std::size_t, std::optional<PieceSums>>> waiting_;
  u64 next_ = 0;
};

}  // namespace

const Measurement Measurements::equal_ = {.equal_bytes = true};

void measure(std::size_t pairs, const std::function<ValuePair(std::size_t pair)>& pair_of,
             const MeasureOptions& options, const std::function<void(std::size_t pair, Measurement measured)>& take) {
  constexpr std::size_t most_open = 2048;  // an open pair takes 2 KiB
  std::vector<ValuePair> open;
  for (std::size_t first = 0; first < pairs; first += open.size()) {
    open.clear();
    for (std::size_t i = first; i < std::min(pairs, first + most_open); ++i) open.push_back(pair_of(i));
    std::vector<Measurement> measured = Measurer(open, options).run();
    for (std::size_t i = 0; i < open.size(); ++i) take(first + i, std::move(measured[i]));
  }
}

}  // namespace modelutils

// What adapters make of one tensor of a base: W + Σ scale · B·A over its values in float32.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "adapter/add_product.h"
#include "adapter/pairs.h"

namespace modelutils::adapter {

/// An adapter and by how much it counts: --lora ADAPTER[=SCALE].
struct Wanted {
  std::string directory;
  double scale = 1;
};

/// Reads "ADAPTER[=SCALE]": a scale where the text behind the last '=' is a finite number. Error: usage.
Result<Wanted> parse_wanted(std::string_view text);

/// One adapter, mapped to a base.
struct Mapped {
  Adapter adapter;
  double scale = 1;
  MappedAdapter map;
};

/// Reads rows [first, first + count) of a base's tensor as they are before adapters change them.
using ReadBase = std::function<Status(u64 first, u64 count, std::span<float> values)>;

/// What changes one tensor, in the order of the adapters. Any number of threads may use it at once.
class TensorMerge {
 public:
  struct Step {
    std::shared_ptr<const Mapped> mapped;
    const Pair* pair = nullptr;       ///< or
    std::vector<const Saved*> saved;  ///< what replaces rows
  };

  TensorMerge(std::vector<Step> steps, u64 columns, u64 rows);

  /// Rows [first, first + count) of the tensor, `values` in and out. Errors: reading.
  Status apply(u64 first, u64 count, std::span<float> values) const;
  /// The source's own elements of a vector, before anything is computed of them; a gate of one row is one. Errors:
  /// reading.
  Status apply_vector(std::span<float> source) const;

  /// Must be there before apply(): DoRA needs the length of whole rows of the module, and where these are no rows of
  /// the tensor it reads all of it first. `granule`: what first and count must be multiples of.
  void set_base(ReadBase read, u64 granule = 1) {
    read_base_ = std::move(read);
    granule_ = granule;
  }

  /// Are products all that it adds? apply() then serves a gate of one row, too, which is a vector.
  bool is_of_pairs() const;

  /// "lora-a, lora-b × 0.5", for reports.
  const std::string& text() const { return text_; }

 private:
  struct Loaded {
    std::vector<Panels> slices;                        // of a pair's A
    std::vector<float> b;                              // with scales; or
    std::vector<float> a;                              // with b of a module whose elements stand in another order
    std::map<std::size_t, std::vector<float>> extras;  // by index: saved tensors, magnitudes
    // By index of magnitudes, where a row of the module is no row of the tensor: what each is multiplied by.
    std::map<std::size_t, std::vector<double>> factors;
  };
  Result<std::shared_ptr<const std::vector<Loaded>>> load() const;
  Result<Loaded> load_step(const Step& step) const;
  // Replaces magnitudes by factors.
  Status measure_rows(std::size_t step, std::vector<Loaded>& loaded) const;
  void apply_step(std::size_t number, const Loaded& loaded, u64 first, u64 count, std::span<float> values) const;
  void apply_pair(const Step& step, const Loaded& loaded, u64 first, u64 count, std::span<float> values) const;
  void add_pair(const Step& step, const Loaded& loaded, u64 first, u64 count, std::span<float> values) const;
  void add_by_element(const Step& step, const Block& block, const Loaded& loaded, u64 first, u64 count,
                      std::span<float> values) const;
  void scale_rows(const Step& step, const Loaded& loaded, u64 first, u64 count, std::span<const float> before,
                  std::span<float> values) const;

  void scale_elements(const Step& step, const Loaded& loaded, u64 first, u64 count, std::span<const float> before,
                      std::span<float> values) const;

  std::vector<Step> steps_;
  ReadBase read_base_;
  u64 granule_ = 1;
  u64 columns_;
  u64 rows_;
  std::string text_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const std::vector<Loaded>> loaded_;
  mutable u64 applied_ = 0;  // rows, since it was loaded: after the last one the factors go
};

/// Opens an adapter's directory: rules/safetensors/adapter.h, which this folder cannot include.
using OpenAdapter = Result<Adapter> (*)(const std::string& directory);

/// Maps adapters to a base: the merge of each tensor that they change, by its name. Errors: those of `open` and
/// map_pairs().
Result<std::map<std::string, std::shared_ptr<TensorMerge>>> plan_merge(const std::vector<Wanted>& wanted,
                                                                       const Base& base, OpenAdapter open);

}  // namespace modelutils::adapter

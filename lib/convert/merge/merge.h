// Merges adapters into a tensor of the base: W + Σ scale · B·A, computed in float32.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "convert/merge/add_product.h"
#include "model/adapter/pairs.h"

namespace modelutils::adapter {

/// An adapter and its scale: --lora ADAPTER[=SCALE].
struct Wanted {
  std::string directory;
  double scale = 1;
};

/// Parses "ADAPTER[=SCALE]". The text after the last '=' is a scale if it is a finite number. Fails with a usage error.
Result<Wanted> parse_wanted(std::string_view text);

/// An adapter mapped to a base model.
struct Mapped {
  Adapter adapter;
  double scale = 1;
  MappedAdapter map;
};

/// Reads rows [first, first + count) of a base tensor, before any adapter is applied.
using ReadBase = std::function<Status(u64 first, u64 count, std::span<float> values)>;

/// The changes to one tensor, in the order of the adapters. Thread-safe.
class TensorMerge {
 public:
  struct Step {
    std::shared_ptr<const Mapped> mapped;
    const Pair* pair = nullptr;       ///< either a pair
    std::vector<const Saved*> saved;  ///< or tensors that replace rows
  };

  TensorMerge(std::vector<Step> steps, u64 columns, u64 rows);

  /// Applies the changes to rows [first, first + count) in `values`. Fails only if reading fails.
  Status apply(u64 first, u64 count, std::span<float> values) const;
  /// Applies the changes to the source elements of a vector, before any operation on them; a gate of one row counts as
  /// a vector. Fails only if reading fails.
  Status apply_vector(std::span<float> source) const;

  /// Call before apply(): DoRA needs the norms of the module's whole rows and, if these are not rows of the tensor,
  /// reads the whole tensor first. `first` and `count` in calls of `read` are multiples of `granule`.
  void set_base(ReadBase read, u64 granule = 1) {
    read_base_ = std::move(read);
    granule_ = granule;
  }

  /// True if the changes are only products. apply() then also handles a gate of one row, which is a vector.
  bool is_of_pairs() const;

  /// Returns the adapters and scales, for reports: "lora-a, lora-b × 0.5".
  const std::string& text() const { return text_; }

 private:
  struct Loaded {
    std::vector<Panels> slices;  // factor A of a pair
    std::vector<float> b;        // factor B, including scales; or
    // factor A, with `b`, of a module whose elements are ordered differently
    std::vector<float> a;
    std::map<std::size_t, std::vector<float>> extras;  // saved tensors and magnitudes, by index
    // Multipliers for each magnitude's rows, by its index, if the module's rows are not rows of the tensor.
    std::map<std::size_t, std::vector<double>> factors;
  };
  Result<std::shared_ptr<const std::vector<Loaded>>> load() const;
  Result<Loaded> load_step(const Step& step) const;
  // Replaces magnitudes by multipliers.
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
  mutable u64 applied_ = 0;  // rows processed since loading; after the last one the factors are freed
};

/// Opens an adapter's directory. Implemented in rules/safetensors/rules.h, which convert/ must not include.
using OpenAdapter = Result<Adapter> (*)(const std::string& directory);

using Merges = std::map<std::string, std::shared_ptr<TensorMerge>>;

/// Returns the merge of each tensor that mapped adapters change, by name.
Merges merges_of(const std::vector<std::shared_ptr<Mapped>>& all);

/// Maps adapters to a base. Returns the merge of each tensor that they change, by name. Fails like `open` and
/// map_pairs().
Result<Merges> plan_merge(const std::vector<Wanted>& wanted, const Base& base, OpenAdapter open);

}  // namespace modelutils::adapter

#include "convert/merge/merge.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "base/error.h"
#include "base/parse_number.h"
#include "base/path.h"
#include "base/text.h"
#include "base/types.h"
#include "convert/merge/add_product.h"

namespace modelutils::adapter {

namespace {

bool has_element_order(const Pair& pair) {
  return std::ranges::any_of(pair.uses, [](const RowUse& use) { return use.by_element && !use.is_product; });
}

// True if elements of a module's row are in several rows of the tensor, or partly in another tensor.
bool has_scattered_rows(const Adapter& adapter, const Pair& pair) {
  return std::ranges::any_of(pair.blocks, [&](const Block& block) {
    const RowUse& use = pair.uses[block.use];
    return use.by_element && (!use.is_product || use.columns.size() != adapter.modules[block.module].a.columns);
  });
}

// Calls visit(i, from) for each element that a block provides in the tensor's rows [first, first + count). `i` is the
// element's index relative to row `first`, `from` its index in the module; both row-major.
template <typename Visit>
void for_each_element(const Pair& pair, const Block& block, u64 first, u64 count, const Visit& visit) {
  const RowUse& use = pair.uses[block.use];
  const u64 columns = pair.columns();
  const u64 begin = std::max({first, use.first_row, block.slice * pair.rows()});
  const u64 end = std::min(first + count, (block.slice + 1) * pair.rows());
  for (u64 row = begin; row < end; ++row) {
    const u64 element = (row - use.first_row) * columns;
    for (u64 j = 0; j < columns && element + j < use.view.rows(); ++j) {
      visit(static_cast<std::size_t>((row - first) * columns + j), use.view.source_row(element + j));
    }
  }
}

// Returns the index of the DoRA magnitudes for a module; nullopt for plain pairs.
std::optional<std::size_t> magnitude_of(const Adapter& adapter, const Module& module) {
  for (std::size_t i = 0; i < adapter.extras.size(); ++i) {
    if (adapter.extras[i].kind == Extra::Kind::magnitude && adapter.extras[i].name == module.name) return i;
  }
  return std::nullopt;
}

// Calls visit(block, module, magnitude) for the blocks of a pair that DoRA scales; `magnitude` is an index into the
// extras.
template <typename Visit>
void for_each_scaled_block(const Adapter& adapter, const Pair& pair, const Visit& visit) {
  for (const Block& block : pair.blocks) {
    const Module& module = adapter.modules[block.module];
    if (const std::optional<std::size_t> magnitude = magnitude_of(adapter, module)) visit(block, module, *magnitude);
  }
}

// Returns the module's row for row `row` of the tensor; nullopt if there is none.
std::optional<u64> source_row(const RowUse& use, u64 row) {
  if (row < use.first_row) return std::nullopt;
  const u64 at = row - use.first_row;
  if (use.by_element)
    return at < use.rows.size() ? std::optional(use.rows[static_cast<std::size_t>(at)]) : std::nullopt;
  return at < use.view.rows() ? std::optional(use.view.source_row(at)) : std::nullopt;
}

}  // namespace

Result<Wanted> parse_wanted(std::string_view text) {
  Wanted wanted{std::string(text), 1};
  const std::size_t equals = text.rfind('=');
  if (equals != std::string_view::npos) {
    const std::string_view number = text.substr(equals + 1);
    const auto [end, error] = number_from_chars(number.data(), number.data() + number.size(), wanted.scale);
    const bool is_number = error == std::errc{} && end == number.data() + number.size() && !number.empty();
    if (is_number && std::isfinite(wanted.scale)) {
      wanted.directory = text.substr(0, equals);
    } else if (is_number) {
      return usage_error(fmt::format("--lora '{}': the scale must be a finite number", text));
    } else {
      wanted.scale = 1;
    }
  }
  if (wanted.directory.empty()) return usage_error("--lora needs the directory of an adapter");
  return wanted;
}

TensorMerge::TensorMerge(std::vector<Step> steps, u64 columns, u64 rows)
    : steps_(std::move(steps)), columns_(columns), rows_(rows) {
  for (const Step& step : steps_) {
    const Mapped& mapped = *step.mapped;
    text_ += (text_.empty() ? "" : ", ") + base_name_of(mapped.adapter.path);
    if (mapped.scale != 1) text_ += fmt::format(" × {}", mapped.scale);
  }
}

Result<TensorMerge::Loaded> TensorMerge::load_step(const Step& step) const {
  const Adapter& adapter = step.mapped->adapter;
  Loaded loaded;
  if (step.pair != nullptr) {
    std::vector<double> scales;
    for (const Block& block : step.pair->blocks) {
      const Module& module = adapter.modules[block.module];
      const std::optional<std::size_t> magnitude = magnitude_of(adapter, module);
      // With DoRA, the requested scale applies to the whole change, not to the product.
      scales.push_back(module.scale * (magnitude ? 1 : step.mapped->scale));
      if (!magnitude) continue;
      MU_ASSIGN(loaded.extras[*magnitude], adapter.read(adapter.extras[*magnitude].values));
    }
    if (has_element_order(*step.pair)) {
      const Module& module = adapter.modules[step.pair->blocks.front().module];
      MU_ASSIGN(loaded.a, adapter.read(module.a));
      MU_ASSIGN(loaded.b, adapter.read(module.b));
    } else {
      const Pair& pair = *step.pair;
      MU_ASSIGN(PairValues values, read_pair(adapter, pair, scales));
      const auto size = static_cast<std::size_t>(pair.rank * columns_);
      for (std::size_t slice = 0; slice < pair.slices(); ++slice) {
        loaded.slices.emplace_back(std::span(values.a).subspan(slice * size, size), pair.rank, columns_);
      }
      loaded.b = std::move(values.b);
    }
  }
  for (const Saved* saved : step.saved) {
    MU_ASSIGN(loaded.extras[saved->extra], adapter.read(adapter.extras[saved->extra].values));
  }
  return loaded;
}

Result<std::shared_ptr<const std::vector<TensorMerge::Loaded>>> TensorMerge::load() const {
  if (loaded_ == nullptr) {
    auto all = std::make_shared<std::vector<Loaded>>();
    for (const Step& step : steps_) {
      MU_ASSIGN(Loaded loaded, load_step(step));
      all->push_back(std::move(loaded));
    }
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Step& step = steps_[i];
      const bool is_dora = step.pair != nullptr && step.saved.empty() && !all->at(i).extras.empty();
      if (is_dora && has_scattered_rows(step.mapped->adapter, *step.pair)) MU_TRY(measure_rows(i, *all));
    }
    loaded_ = std::move(all);
  }
  return loaded_;
}

Status TensorMerge::apply(u64 first, u64 count, std::span<float> values) const {
  std::shared_ptr<const std::vector<Loaded>> loaded;
  {
    const std::lock_guard lock(mutex_);
    MU_ASSIGN(loaded, load());
    applied_ += count;
    if (applied_ >= rows_) {
      loaded_ = nullptr;
      applied_ = 0;
    }
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) apply_step(i, loaded->at(i), first, count, values);
  return {};
}

void TensorMerge::apply_step(std::size_t number, const Loaded& loaded, u64 first, u64 count,
                             std::span<float> values) const {
  const Step& step = steps_[number];
  for (const Saved* saved : step.saved) {
    const std::vector<float>& whole = loaded.extras.at(saved->extra);
    const auto weight = static_cast<float>(step.mapped->scale);
    for (u64 row = first; row < first + count; ++row) {
      const std::optional<u64> from = source_row(saved->use, row);
      for (u64 j = 0; from && j < columns_; ++j) {
        float& value = values[static_cast<std::size_t>((row - first) * columns_ + j)];
        const float replacing = whole[static_cast<std::size_t>(*from * columns_ + j)];
        value = weight == 1 ? replacing : value + weight * (replacing - value);
      }
    }
  }
  if (step.pair != nullptr) apply_pair(step, loaded, first, count, values);
}

void TensorMerge::apply_pair(const Step& step, const Loaded& loaded, u64 first, u64 count,
                             std::span<float> values) const {
  const bool is_dora = !loaded.extras.empty() && step.saved.empty();
  const std::vector<float> before = is_dora ? std::vector<float>(values.begin(), values.end()) : std::vector<float>();
  add_pair(step, loaded, first, count, values);
  if (!loaded.factors.empty()) {
    scale_elements(step, loaded, first, count, before, values);
  } else if (is_dora) {
    scale_rows(step, loaded, first, count, before, values);
  }
}

void TensorMerge::add_pair(const Step& step, const Loaded& loaded, u64 first, u64 count,
                           std::span<float> values) const {
  const Pair& pair = *step.pair;
  if (has_element_order(pair)) {
    for (const Block& block : pair.blocks) add_by_element(step, block, loaded, first, count, values);
    return;
  }
  const std::span<const float> all_b(loaded.b);
  for (u64 row = first; row < first + count;) {
    const u64 slice = row / pair.rows();
    const u64 end = std::min(first + count, (slice + 1) * pair.rows());
    add_product(
        loaded.slices[static_cast<std::size_t>(slice)],
        all_b.subspan(static_cast<std::size_t>(row * pair.rank), static_cast<std::size_t>((end - row) * pair.rank)),
        values.subspan(static_cast<std::size_t>((row - first) * columns_),
                       static_cast<std::size_t>((end - row) * columns_)));
    row = end;
  }
}

// For latent attention's kv_b_proj, from which one tensor takes the transpose of each head.
void TensorMerge::add_by_element(const Step& step, const Block& block, const Loaded& loaded, u64 first, u64 count,
                                 std::span<float> values) const {
  const Pair& pair = *step.pair;
  const Module& module = step.mapped->adapter.modules[block.module];
  const bool is_dora = magnitude_of(step.mapped->adapter, module).has_value();
  const double scale = module.scale * (is_dora ? 1 : step.mapped->scale);
  const u64 in = module.a.columns;
  for_each_element(pair, block, first, count, [&](std::size_t i, u64 from) {
    const u64 out_row = from / in % module.b.rows;
    double sum = 0;
    for (u64 k = 0; k < module.rank(); ++k) {
      const u64 b = module.b.start + block.source_slice * module.b.stack_stride + out_row * module.b.row_stride +
                    k * module.b.column_stride;
      const u64 a = module.a.start + block.source_slice * module.a.stack_stride + k * module.a.row_stride +
                    from % in * module.a.column_stride;
      sum += static_cast<double>(loaded.b[static_cast<std::size_t>(b)]) * loaded.a[static_cast<std::size_t>(a)];
    }
    values[i] += static_cast<float>(scale * sum);
  });
}

// DoRA: scales every row of the sum to the norm that the adapter has learned.
void TensorMerge::scale_rows(const Step& step, const Loaded& loaded, u64 first, u64 count,
                             std::span<const float> before, std::span<float> values) const {
  const auto scale = [&](const Block& block, const Module& module, std::size_t magnitude) {
    const std::vector<float>& lengths = loaded.extras.at(magnitude);
    const RowUse& use = step.pair->uses[block.use];
    // Scale each row once, even if several blocks of the module have the row.
    const u64 rows = step.pair->rows();
    const u64 begin = std::max(first, block.slice * rows);
    for (u64 row = begin; row < std::min(first + count, (block.slice + 1) * rows); ++row) {
      const std::optional<u64> from = source_row(use, row);
      if (!from || *from >= lengths.size() || *from / module.b.rows != block.source_slice) continue;
      const std::span<float> sum = values.subspan(static_cast<std::size_t>((row - first) * columns_), columns_);
      double squares = 0;
      for (const float value : sum) squares += static_cast<double>(value) * value;
      const double factor = lengths[static_cast<std::size_t>(*from)] / std::sqrt(squares);
      for (std::size_t j = 0; j < sum.size(); ++j) {
        const double old = before[static_cast<std::size_t>((row - first) * columns_) + j];
        sum[j] = static_cast<float>(old + step.mapped->scale * (factor * sum[j] - old));
      }
    }
  };
  for_each_scaled_block(step.mapped->adapter, *step.pair, scale);
}

// Measures the module's rows, whose elements may be anywhere in the tensor.
Status TensorMerge::measure_rows(std::size_t number, std::vector<Loaded>& all) const {
  constexpr u64 values_at_once = u64{1} << 18;
  if (!read_base_) return internal_error("nothing reads the base for DoRA");
  const Step& step = steps_[number];
  const Adapter& adapter = step.mapped->adapter;
  std::map<std::size_t, std::vector<u64>> counts;
  std::map<std::size_t, std::vector<double>> squares;
  for (const auto& [extra, lengths] : all[number].extras) {
    counts[extra].resize(lengths.size());
    squares[extra].resize(lengths.size());
  }
  const u64 some = std::max<u64>(values_at_once / std::max<u64>(columns_, 1) / granule_, 1) * granule_;
  std::vector<float> values;
  for (u64 first = 0; first < rows_; first += some) {
    const u64 count = std::min(some, rows_ - first);
    values.resize(static_cast<std::size_t>(count * columns_));
    MU_TRY(read_base_(first, count, values));
    for (std::size_t i = 0; i < number; ++i) apply_step(i, all[i], first, count, values);
    add_pair(step, all[number], first, count, values);
    const auto measure = [&](const Block& block, const Module& module, std::size_t magnitude) {
      std::vector<u64>& counted = counts[magnitude];
      std::vector<double>& sums = squares[magnitude];
      for_each_element(*step.pair, block, first, count, [&](std::size_t i, u64 from) {
        const auto row = static_cast<std::size_t>(from / module.a.columns);
        if (row >= sums.size()) return;
        ++counted[row];
        sums[row] += static_cast<double>(values[i]) * values[i];
      });
    };
    for_each_scaled_block(adapter, *step.pair, measure);
  }
  for (const Block& block : step.pair->blocks) {
    const Module& module = adapter.modules[block.module];
    const std::optional<std::size_t> magnitude = magnitude_of(adapter, module);
    if (!magnitude || all[number].factors.contains(*magnitude)) continue;
    const std::vector<float>& lengths = all[number].extras.at(*magnitude);
    std::vector<double>& factors = all[number].factors[*magnitude];
    for (std::size_t row = 0; row < lengths.size(); ++row) {
      const u64 found = counts[*magnitude][row];
      if (found != 0 && found != module.a.columns) {
        return input_error(
            "adapter-pair",
            fmt::format("is a DoRA module, which needs the lengths of all its rows, but {} has only some of them",
                        step.pair->name),
            at_tensor(module.name), {}, adapter.path);
      }
      factors.push_back(lengths[row] / std::sqrt(squares[*magnitude][row]));
    }
  }
  return {};
}

void TensorMerge::scale_elements(const Step& step, const Loaded& loaded, u64 first, u64 count,
                                 std::span<const float> before, std::span<float> values) const {
  const auto scale = [&](const Block& block, const Module& module, std::size_t magnitude) {
    const std::vector<double>& factors = loaded.factors.at(magnitude);
    for_each_element(*step.pair, block, first, count, [&](std::size_t i, u64 from) {
      const auto row = static_cast<std::size_t>(from / module.a.columns);
      if (row >= factors.size()) return;
      const double old = before[i];
      values[i] = static_cast<float>(old + step.mapped->scale * (factors[row] * values[i] - old));
    });
  };
  for_each_scaled_block(step.mapped->adapter, *step.pair, scale);
}

bool TensorMerge::is_of_pairs() const {
  return std::ranges::all_of(steps_, [](const Step& step) { return step.pair != nullptr && step.saved.empty(); });
}

Status TensorMerge::apply_vector(std::span<float> source) const {
  for (const Step& step : steps_) {
    MU_ASSIGN(const Loaded loaded, load_step(step));
    for (const Saved* saved : step.saved) {
      const std::vector<float>& whole = loaded.extras.at(saved->extra);
      for (std::size_t i = 0; i < std::min(source.size(), whole.size()); ++i) {
        source[i] += static_cast<float>(step.mapped->scale) * (whole[i] - source[i]);
        if (step.mapped->scale == 1) source[i] = whole[i];
      }
    }
    if (step.pair != nullptr) apply_pair(step, loaded, 0, 1, source);
  }
  return {};
}

Result<Merges> plan_merge(const std::vector<Wanted>& wanted, const Base& base, OpenAdapter open) {
  std::vector<std::shared_ptr<Mapped>> all;
  for (const Wanted& each : wanted) {
    auto mapped = std::make_shared<Mapped>();
    mapped->scale = each.scale;
    MU_ASSIGN(mapped->adapter, open(each.directory));
    MU_ASSIGN(mapped->map, map_pairs(mapped->adapter, base, true));
    all.push_back(std::move(mapped));
  }
  return merges_of(all);
}

Merges merges_of(const std::vector<std::shared_ptr<Mapped>>& all) {
  std::map<std::string, std::vector<TensorMerge::Step>> steps;
  std::map<std::string, std::vector<u64>> shapes;
  for (const std::shared_ptr<Mapped>& mapped : all) {
    for (const Pair& pair : mapped->map.pairs) {
      steps[pair.name].push_back({mapped, &pair, {}});
      shapes[pair.name] = pair.ne;
    }
    for (const Saved& saved : mapped->map.saved) {
      std::vector<TensorMerge::Step>& of_tensor = steps[saved.name];
      if (of_tensor.empty() || of_tensor.back().mapped != mapped) of_tensor.push_back({mapped, nullptr, {}});
      of_tensor.back().saved.push_back(&saved);
      const Factor& values = mapped->adapter.extras[saved.extra].values;
      shapes.try_emplace(saved.name, std::vector<u64>{values.columns, values.rows * values.stack});
    }
  }
  Merges merges;
  for (auto& [name, of_tensor] : steps) {
    const std::vector<u64>& ne = shapes[name];
    const u64 rows = checked_product(std::span(ne).subspan(1)).value_or(0);
    merges.emplace(name, std::make_shared<TensorMerge>(std::move(of_tensor), ne.front(), rows));
  }
  return merges;
}

}  // namespace modelutils::adapter

#include "convert/requantize/encode.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/parallel.h"
#include "base/text.h"
#include "convert/requantize/plan.h"
#include "convert/requantize/tensor_error.h"
#include "tensor/block_check.h"
#include "tensor/dequantize.h"
#include "tensor/narrow.h"
#include "tensor/quantize/quantize.h"
#include "tensor/value_sums.h"

namespace modelutils::requantize {

namespace {

constexpr u64 sample_rows = 16;
constexpr u64 sample_elements = u64{1} << 16;

// Ordered by size. The first ones are only tried if there are importance weights.
constexpr TensorType candidates[] = {TensorType::IQ1_S, TensorType::IQ2_XXS, TensorType::IQ2_XS, TensorType::IQ2_S,
                                     TensorType::Q2_K,  TensorType::IQ3_XXS, TensorType::Q3_K,   TensorType::IQ4_XS,
                                     TensorType::Q4_K,  TensorType::Q5_K,    TensorType::Q6_K,   TensorType::Q8_0};

// A possible type for a tensor.
struct Option {
  TensorType type;
  u64 bytes = 0;     // in the file, with the following padding
  double error = 0;  // relative squared error times the number of elements
};

// A move from one option of a tensor to a larger one.
struct Step {
  std::size_t tensor;
  std::size_t from;
  std::size_t to;
  u64 bytes;
  double gain;  // error removed per byte
};

class Chooser {
 public:
  Chooser(const Source& source, const quantize::ImportanceMatrix* matrix, std::span<const quantize::MixChoice> choices,
          unsigned threads)
      : source_(source),
        matrix_(matrix),
        choices_(choices),
        threads_(std::max(threads, 1u)),
        options_(choices.size()) {}

  Status measure(Progress& progress) {
    u64 bytes = 0;
    const auto is_free = [&](u64 i) { return choices_[i].touched && !choices_[i].overridden; };
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (is_free(i)) bytes += sample_of(i).count * bytes_of_group(i);
    }
    progress.restart("measuring", bytes);
    MU_TRY(parallel_for(choices_.size(), threads_, [&](u64 i, unsigned thread) -> Status {
      return is_free(i) ? measure_tensor(i, thread, progress) : Status{};
    }));
    progress.finish();
    steps_ = make_steps();
    return {};
  }

  // Returns the smallest type for each tensor.
  std::vector<TensorType> smallest() const {
    std::vector<TensorType> types;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      types.push_back(options_[i].empty() ? choices_[i].type : options_[i].front().type);
    }
    return types;
  }

  // Returns all steps, best first. The steps of one tensor stay in order because their gains decrease.
  std::vector<Step> make_steps() const {
    std::vector<Step> steps;
    for (std::size_t i = 0; i < options_.size(); ++i) {
      for (std::size_t at = 0; at + 1 < options_[i].size();) {
        Step best{i, at, at, 0, 0};
        for (std::size_t to = at + 1; to < options_[i].size(); ++to) {
          const u64 bytes = options_[i][to].bytes - options_[i][at].bytes;
          const double removed = options_[i][at].error - options_[i][to].error;
          const double gain = bytes == 0 ? 0 : removed / static_cast<double>(bytes);
          if (gain > best.gain) best = {i, at, to, bytes, gain};
        }
        if (best.to == at) break;
        steps.push_back(best);
        at = best.to;
      }
    }
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.gain > b.gain; });
    return steps;
  }

  // Returns the best types for a file of at most `max_bytes`. `least` is the file's size with the smallest types.
  std::vector<TensorType> within(u64 least, u64 max_bytes) const {
    std::vector<TensorType> types = smallest();
    std::vector<std::size_t> option(types.size(), 0);
    u64 size = least;
    for (const Step& step : steps_) {
      if (option[step.tensor] != step.from || size > max_bytes || step.bytes > max_bytes - size) continue;
      types[step.tensor] = options_[step.tensor][step.to].type;
      option[step.tensor] = step.to;
      size += step.bytes;
    }
    return types;
  }

  // Returns the mix named after the type with the most bytes; Q4_K_M if no mix is named after it.
  const quantize::Mix* mix_named_after(std::span<const TensorType> types) const {
    std::map<TensorType, u64> bytes;
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const Tensor& tensor = source_.tensors()[i];
      if (choices_[i].touched) bytes[types[i]] += row_bytes(types[i], tensor.ne[0]).value_or(0) * rows_of(tensor);
    }
    const auto most =
        std::max_element(bytes.begin(), bytes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    const quantize::Mix* mix = most == bytes.end() ? nullptr : quantize::mix_from_name(type_name(most->first));
    return mix != nullptr ? mix : quantize::mix_from_name("Q4_K_M");
  }

 private:
  // Groups of rows that are read together: the number in a tensor, and how many of them are measured.
  struct Sample {
    u64 groups;
    u64 count;
  };

  Sample sample_of(std::size_t i) const {
    const Tensor& tensor = source_.tensors()[i];
    const u64 rows = source_.granule(i);
    const u64 groups = rows_of(tensor) / rows;
    return {groups, std::min(groups, std::max<u64>(std::min(sample_rows, sample_elements / tensor.ne[0]) / rows, 1))};
  }

  u64 bytes_of_group(std::size_t i) const { return source_.granule(i) * row_size_of(source_.tensors()[i]); }

  // Finds the options of a tensor and measures their error on evenly spread rows.
  Status measure_tensor(std::size_t i, unsigned thread, Progress& progress) {
    const Tensor& tensor = source_.tensors()[i];
    const u64 ne0 = tensor.ne[0];
    const u64 rows = source_.granule(i);
    const auto [groups, count] = sample_of(i);
    std::vector<std::byte> blocks(bytes_of_group(i));
    std::vector<float> values(rows * ne0);
    std::vector<float> weights;
    const u64 columns_wanted = ne0 * (tensor.ne.size() > 2 ? tensor.ne[2] : 1);
    const quantize::ImportanceEntry* entry = matrix_ == nullptr ? nullptr : matrix_->find(tensor.name);
    if (entry != nullptr && entry->values == columns_wanted) {
      MU_ASSIGN(weights, matrix_->weights(*entry));
    }
    std::vector<Option> options = options_of(tensor, !weights.empty());
    std::vector<TensorError> errors(options.size());
    for (u64 k = 0; k < count; ++k) {
      const u64 first = k * groups / count * rows;
      MU_TRY(source_.read_rows(i, first, rows, blocks, thread));
      dequantize(*tensor.type, blocks, values);
      if (!narrow_facts(values).finite) {
        return input_error("quantize-not-finite", "has a value that is NaN or infinite", at_tensor(tensor.name));
      }
      const u64 matrix_rows = tensor.ne.size() > 1 ? tensor.ne[1] : 1;
      for (u64 row = 0; row < rows; ++row) {
        const auto some = std::span<const float>(values).subspan(row * ne0, ne0);
        std::span<const float> of_row;
        if (!weights.empty()) {
          of_row = std::span(weights).subspan((first + row) / matrix_rows % (weights.size() / ne0) * ne0, ne0);
        }
        for (std::size_t o = 0; o < options.size(); ++o) measure_option(options[o], some, of_row, errors[o]);
      }
      progress.advance(blocks.size());
    }
    const double elements = static_cast<double>(rows_of(tensor)) * static_cast<double>(ne0);
    for (std::size_t o = 0; o < options.size(); ++o) {
      const TensorError& error = errors[o];
      const ValueSums& sums = error.weighted.aa > 0 ? error.weighted : error.plain;
      options[o].error = sums.aa > 0 ? sums.dd / sums.aa * elements : 0;
    }
    options_[i] = std::move(options);
    return {};
  }

  u64 padded(u64 bytes) const { return (bytes + source_.alignment() - 1) / source_.alignment() * source_.alignment(); }

  std::vector<Option> options_of(const Tensor& tensor, bool weighted) const {
    std::map<std::pair<u64, TensorType>, Option> found;
    const auto add = [&](TensorType type) {
      const u64 bytes = padded(row_bytes(type, tensor.ne[0]).value_or(0) * rows_of(tensor));
      found.try_emplace({bytes, type}, Option{type, bytes});
    };
    for (const TensorType type : candidates) {
      // Without weights ggml refuses some of these types, and the error of the others is too large.
      if (!weighted && (needs_importance(type) || type == TensorType::IQ2_S || type == TensorType::IQ3_XXS)) continue;
      // ComfyUI-GGUF decodes other types of this list slowly.
      const bool is_image = source_.model().is_image;
      if (is_image && (type == TensorType::IQ3_XXS || type == TensorType::IQ2_S || needs_importance(type))) continue;
      if (const auto fitting = quantize::fitting_type(type, tensor.ne[0], tensor.name, is_image)) add(*fitting);
    }
    add(*tensor.type);  // a copy has no error
    std::vector<Option> options;
    for (const auto& [order, option] : found) options.push_back(option);
    // Options must not be larger than the source.
    const u64 most = padded(row_size_of(tensor) * rows_of(tensor));
    std::erase_if(options, [&](const Option& option) {
      return option.bytes > most || (option.bytes == most && option.type != tensor.type);
    });
    return options;
  }

  static void measure_option(const Option& option, std::span<const float> row, std::span<const float> weights,
                             TensorError& error) {
    std::vector<std::byte> blocks(*row_bytes(option.type, row.size()));
    std::vector<float> carried(row.size());
    quantize_rows(option.type, row, row.size(), blocks, {.importance = weights});
    dequantize(option.type, blocks, carried);
    measure_row(row, carried, weights, error);
  }

  const Source& source_;
  const quantize::ImportanceMatrix* matrix_;
  std::span<const quantize::MixChoice> choices_;
  unsigned threads_;
  std::vector<std::vector<Option>> options_;
  std::vector<Step> steps_;
};

}  // namespace

Result<Budget> choose_within(const Source& source, const quantize::ImportanceMatrix* matrix,
                             std::span<const quantize::MixChoice> choices, const QuantizeRequest& request,
                             const Limits& limits, Progress& progress) {
  Chooser chooser(source, matrix, choices, request.threads);
  MU_TRY(chooser.measure(progress));
  const std::vector<TensorType> smallest = chooser.smallest();
  MU_ASSIGN(const u64 least, limits.size_of(smallest));
  const auto refuse = [&](std::string_view into) {
    return input_error("quantize-max-size",
                       fmt::format("does not fit into {}: the smallest possible file takes {}", into, byte_text(least)),
                       {}, {}, request.input);
  };
  if (limits.max_bytes && least > *limits.max_bytes) return refuse(byte_text(*limits.max_bytes));
  Budget budget{.types = chooser.within(least, limits.max_bytes.value_or(~u64{0} >> 1)), .mix = nullptr, .sample = {}};
  if (limits.fits_memory) {
    MU_ASSIGN(const bool fits_smallest, limits.fits_memory(smallest));
    if (!fits_smallest) return refuse("the memory of the GPU");
    MU_ASSIGN(const bool fits_all, limits.fits_memory(budget.types));
    if (!fits_all) {
      // Bisect to the largest file that fits in memory, within 0.1 %. This works because a larger file never needs less
      // memory.
      u64 low = least;
      MU_ASSIGN(u64 high, limits.size_of(budget.types));
      budget.types = smallest;
      while (high - low > low / 1000 + 1) {
        const u64 middle = low + (high - low) / 2;
        std::vector<TensorType> types = chooser.within(least, middle);
        MU_ASSIGN(const bool fits, limits.fits_memory(types));
        (fits ? low : high) = middle;
        if (fits) budget.types = std::move(types);
      }
    }
  }
  budget.mix = chooser.mix_named_after(budget.types);
  MU_TRY(limits.size_of(budget.types));
  budget.sample =
      fmt::format("up to {} rows of each tensor, evenly spaced, at most {} values", sample_rows, sample_elements);
  return budget;
}

namespace {

// Values processed at a time, so that they and the results stay in a core's cache.
constexpr u64 piece_elements = u64{1} << 15;

tl::unexpected<Error> refuse(const QuantizeRequest& request, const Tensor& tensor, std::string code,
                             std::string message) {
  return input_error(std::move(code), std::move(message), at_tensor(tensor.name), {}, request.input);
}

}  // namespace

TensorEncoder::TensorEncoder(const QuantizePlan& plan, const QuantizeRequest& request)
    : plan_(plan), request_(request), workers_(std::max(request.threads, 1u)), misplaced_(plan.tensors.size()) {}

Status TensorEncoder::take(std::size_t tensor, u64 first, u64 count, unsigned thread) {
  Worker& worker = workers_[thread];
  const std::size_t source = plan_.tensors[tensor].source;
  worker.taken.resize(static_cast<std::size_t>(count * row_size_of(plan_.source->tensors()[source])));
  worker.first_taken = first;
  return plan_.source->read_rows(source, first, count, worker.taken, thread);
}

Status TensorEncoder::read(const PlannedTensor& planned, u64 first, u64 count, MutableBytes out,
                           unsigned thread) const {
  if (plan_.source->only_order().empty()) return plan_.source->read_rows(planned.source, first, count, out, thread);
  const Worker& worker = workers_[thread];
  const u64 row_size = row_size_of(plan_.source->tensors()[planned.source]);
  std::memcpy(out.data(), worker.taken.data() + (first - worker.first_taken) * row_size, out.size());
  return {};
}

Status TensorEncoder::encode(std::size_t tensor, u64 first, u64 count, MutableBytes out, unsigned thread) {
  const PlannedTensor& planned = plan_.tensors[tensor];
  const Tensor& source = plan_.source->tensors()[planned.source];
  if (planned.copied) return copy_piece(planned, first, count, out, thread);
  Worker& worker = workers_[thread];
  if (worker.tensor != tensor) {
    worker.weights = nullptr;
    worker.tensor = tensor;
    if (planned.importance != nullptr) {
      MU_ASSIGN(worker.weights, weights_of(tensor));
    }
  }
  const u64 granule = plan_.source->granule(planned.source);
  const u64 granules = std::max<u64>(piece_elements / std::max<u64>(source.ne[0] * granule, 1), 1);
  const u64 rows = granules * granule;
  const u64 row_out = row_bytes(planned.type, source.ne.front()).value_or(0);
  TensorError error;
  for (u64 done = 0; done < count; done += rows) {
    const u64 some = std::min(rows, count - done);
    const MutableBytes piece = out.subspan(done * row_out, some * row_out);
    MU_TRY(encode_piece(planned, first + done, some, piece, worker, thread, error));
    if (planned.type == TensorType::IQ3_S && !request_.correct && !misplaced_[tensor]) {
      for (u64 row = 0; row < some; ++row) {
        const auto values = std::span<const float>(worker.values).subspan(row * source.ne[0], source.ne[0]);
        if (misplaced_in_iq3_s(values)) misplaced_[tensor] = true;
      }
    }
  }
  const std::lock_guard lock(mutex_);
  errors_[{tensor, first}] = error;
  return {};
}

Status TensorEncoder::copy_piece(const PlannedTensor& planned, u64 first, u64 count, MutableBytes out,
                                 unsigned thread) {
  MU_TRY(read(planned, first, count, out, thread));
  const BlockCheck check = check_blocks(planned.type, out);
  if (check.first && !check.first->is_warning) {
    const Tensor& source = plan_.source->tensors()[planned.source];
    return refuse(request_, source, "quantize-not-finite",
                  fmt::format("{} in {}: {}", check.first->what, plan_.source->form_text(planned.source),
                              "the source has undefined values"));
  }
  return {};
}

Status TensorEncoder::encode_piece(const PlannedTensor& planned, u64 first, u64 count, MutableBytes out, Worker& worker,
                                   unsigned thread, TensorError& error) {
  const Tensor& source = plan_.source->tensors()[planned.source];
  const u64 ne0 = source.ne[0];
  worker.values.resize(count * ne0);
  worker.carried.resize(count * ne0);
  const std::span<float> values(worker.values);
  if (source.type == TensorType::F32) {
    MU_TRY(read(planned, first, count, std::as_writable_bytes(values), thread));
  } else {
    worker.rows.resize(count * row_size_of(source));
    MU_TRY(read(planned, first, count, worker.rows, thread));
    dequantize(*source.type, worker.rows, values);
  }
  if (!narrow_facts(values).finite) {
    return refuse(request_, source, "quantize-not-finite", "has a value that is NaN or infinite");
  }
  // Each expert has its own weights.
  const u64 matrix_rows = source.ne.size() > 1 ? source.ne[1] : 1;
  const u64 row_out = out.size() / count;
  for (u64 row = 0; row < count;) {
    const u64 at = first + row;
    const u64 some = worker.weights == nullptr ? count - row : std::min(count - row, matrix_rows - at % matrix_rows);
    const std::span<const float> weights =
        worker.weights == nullptr ? std::span<const float>()
                                  : std::span<const float>(*worker.weights)
                                        .subspan(at / matrix_rows % (worker.weights->size() / ne0) * ne0, ne0);
    const auto exact = values.subspan(row * ne0, some * ne0);
    const MutableBytes blocks = out.subspan(row * row_out, some * row_out);
    quantize_rows(planned.type, exact, ne0, blocks, {.importance = weights, .correct = request_.correct});
    const auto carried = std::span<float>(worker.carried).subspan(row * ne0, some * ne0);
    dequantize(planned.type, blocks, carried);
    if (weights.empty()) {
      measure_row(exact, carried, {}, error);
    } else {
      for (u64 i = 0; i < some; ++i) {
        measure_row(exact.subspan(i * ne0, ne0), carried.subspan(i * ne0, ne0), weights, error);
      }
    }
    row += some;
  }
  const BlockCheck check = check_blocks(planned.type, out);
  if (check.first && !check.first->is_warning) {
    return refuse(request_, source, "quantize-overflow",
                  fmt::format("values too large for the scales of {}", type_name(planned.type)));
  }
  if (request_.exact && error.plain.max_abs > 0) {
    return refuse(request_, source, "quantize-inexact",
                  fmt::format("{} → {} changes values (--exact)", plan_.source->form_text(planned.source),
                              type_name(planned.type)));
  }
  return {};
}

Result<std::shared_ptr<const std::vector<float>>> TensorEncoder::weights_of(std::size_t tensor) {
  const std::lock_guard lock(mutex_);
  if (auto there = weights_[tensor].lock()) return there;
  MU_ASSIGN(std::vector<float> weights, plan_.importance->weights(*plan_.tensors[tensor].importance));
  auto shared = std::make_shared<const std::vector<float>>(std::move(weights));
  weights_[tensor] = shared;
  return shared;
}

void TensorEncoder::settle(QuantizeReport& report) {
  for (const auto& [place, error] : errors_) {
    report.tensors[place.first].measured = true;
    report.tensors[place.first].error.add(error);
  }
  for (std::size_t i = 0; i < misplaced_.size(); ++i) {
    if (!misplaced_[i]) continue;
    report.remarks.add({.severity = Severity::warning,
                        .scope = Scope::data,
                        .code = "quantize-iq3s-misplaced",
                        .message = "IQ3_S blocks with a group of zeros before other values decode wrongly, as those of "
                                   "ggml do (--correct encodes them correctly)",
                        .where = at_tensor(report.tensors[i].name)});
  }
}

}  // namespace modelutils::requantize

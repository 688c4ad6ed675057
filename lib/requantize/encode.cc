#include "requantize/encode.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>

#include "base/place.h"
#include "quantize/quantize.h"
#include "requantize/tensor_error.h"
#include "tensor/block_check.h"
#include "tensor/dequantize.h"
#include "tensor/narrow.h"

namespace modelutils::requantize {

namespace {

// Values processed at a time, so that they and the results stay in a core's cache.
constexpr u64 piece_elements = u64{1} << 15;

tl::unexpected<Error> refuse(const QuantizeRequest& request, const SourceTensor& tensor, std::string code,
                             std::string message) {
  return input_error(std::move(code), std::move(message), at_tensor(tensor.name), {}, request.input);
}

}  // namespace

TensorEncoder::TensorEncoder(const QuantizePlan& plan, const QuantizeRequest& request)
    : plan_(plan), request_(request), workers_(std::max(request.threads, 1u)), misplaced_(plan.tensors.size()) {}

Status TensorEncoder::take(std::size_t tensor, u64 first, u64 count, unsigned thread) {
  Worker& worker = workers_[thread];
  const std::size_t source = plan_.tensors[tensor].source;
  worker.taken.resize(static_cast<std::size_t>(count * plan_.source->tensors()[source].row_size()));
  worker.first_taken = first;
  return plan_.source->read_rows(source, first, count, worker.taken, thread);
}

Status TensorEncoder::read(const PlannedTensor& planned, u64 first, u64 count, MutableBytes out,
                           unsigned thread) const {
  if (plan_.source->only_order().empty()) return plan_.source->read_rows(planned.source, first, count, out, thread);
  const Worker& worker = workers_[thread];
  const u64 row_size = plan_.source->tensors()[planned.source].row_size();
  std::memcpy(out.data(), worker.taken.data() + (first - worker.first_taken) * row_size, out.size());
  return {};
}

Status TensorEncoder::encode(std::size_t tensor, u64 first, u64 count, MutableBytes out, unsigned thread) {
  const PlannedTensor& planned = plan_.tensors[tensor];
  const SourceTensor& source = plan_.source->tensors()[planned.source];
  if (planned.copied) return copy_piece(planned, first, count, out, thread);
  Worker& worker = workers_[thread];
  if (worker.tensor != tensor) {
    worker.weights = nullptr;
    worker.tensor = tensor;
    if (planned.importance != nullptr) {
      MU_ASSIGN(worker.weights, weights_of(tensor));
    }
  }
  const u64 granules = std::max<u64>(piece_elements / std::max<u64>(source.ne[0] * source.granule, 1), 1);
  const u64 rows = granules * source.granule;
  const u64 row_out = plan_.stream[tensor].parts[0].row_bytes;
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
    const SourceTensor& source = plan_.source->tensors()[planned.source];
    return refuse(request_, source, "quantize-not-finite",
                  fmt::format("{} in {}: {}", check.first->what, source.form, "the source has undefined values"));
  }
  return {};
}

Status TensorEncoder::encode_piece(const PlannedTensor& planned, u64 first, u64 count, MutableBytes out, Worker& worker,
                                   unsigned thread, TensorError& error) {
  const SourceTensor& source = plan_.source->tensors()[planned.source];
  const u64 ne0 = source.ne[0];
  worker.values.resize(count * ne0);
  worker.carried.resize(count * ne0);
  const std::span<float> values(worker.values);
  if (source.type == TensorType::F32) {
    MU_TRY(read(planned, first, count, std::as_writable_bytes(values), thread));
  } else {
    worker.rows.resize(count * source.row_size());
    MU_TRY(read(planned, first, count, worker.rows, thread));
    dequantize(source.type, worker.rows, values);
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
                  fmt::format("{} → {} changes values (--exact)", source.form, type_name(planned.type)));
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

#include "requantize/quantize_model.h"

#include "io/check_written.h"
#include "io/free_space.h"
#include "requantize/encode.h"
#include "requantize/plan.h"
#include "transfer/value_sums.h"

namespace modelutils::requantize {

namespace {

OutputOptions output_options(const QuantizePlan& plan, const QuantizeRequest& request) {
  OutputOptions options{.force = request.force, .inputs = plan.source->inputs(), .binary = true};
  for (const std::string& path : {request.importance, request.like}) {
    if (!path.empty()) options.inputs.push_back(path);
  }
  return options;
}

}  // namespace

Result<QuantizeReport> quantize_model(const QuantizeRequest& request, Progress& progress) {
  MU_ASSIGN(QuantizePlan plan, plan_quantize(request));
  const OutputOptions options = output_options(plan, request);
  if (request.dry_run) {
    if (!request.output.empty()) {
      MU_TRY(AtomicOutput::check(request.output, options));
      MU_TRY(check_free_space(request.output, plan.layout.file_size));
    }
    return std::move(plan.report);
  }
  MU_TRY(check_free_space(request.output, plan.layout.file_size));
  MU_ASSIGN(AtomicOutput output, AtomicOutput::create(request.output, options));
  progress.restart("quantising", plan.layout.file_size);
  TensorEncoder encoder(plan, request);
  std::vector<StreamTensor> tensors;
  for (const std::size_t i : plan.reading) tensors.push_back(plan.stream[i]);
  const EncodeRows encode = [&](std::size_t tensor, u64 first, u64 count, const EncodedParts& out, unsigned thread,
                                ValueSums*) {
    return encoder.encode(plan.reading[tensor], first, count, out[0], thread);
  };
  TakeRows take;
  if (!plan.source->only_order().empty()) {
    take = [&](std::size_t tensor, u64 first, u64 count, unsigned thread) {
      return encoder.take(plan.reading[tensor], first, count, thread);
    };
  }
  const StreamFile files[] = {{&output, plan.layout.header, plan.layout.file_size}};
  MU_TRY(stream_tensors(files, tensors, request.threads, encode, progress, {}, take));
  progress.finish();
  MU_TRY(check_written(output, plan.layout.header, plan.layout.file_size));
  encoder.settle(plan.report);
  if (request.deliver) MU_TRY(request.deliver(plan.report));
  MU_TRY(output.commit());
  return std::move(plan.report);
}

}  // namespace modelutils::requantize

#include "requantize/quantize_model.h"

#include "gguf/parse.h"
#include "io/atomic_output.h"
#include "io/free_space.h"
#include "io/random_access_file.h"
#include "requantize/encode.h"
#include "requantize/plan.h"
#include "rules/gguf/rules.h"
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

// Checks that the file on disk, under its temporary name, matches the plan.
Status check_written(const QuantizePlan& plan, const AtomicOutput& output) {
  if (!output.is_seekable()) return {};
  const auto refuse = [&](std::string message) { return output_error("out-check", std::move(message), output.path()); };
  const auto opened = RandomAccessFile::open(output.staging_path());
  if (!opened) return refuse(opened.error().message);
  if ((*opened)->file_size() != plan.layout.file_size) return refuse("does not have the size that was written");
  const auto document = gguf::parse(**opened);
  if (!document) return refuse(document.error().message);
  const Findings findings = gguf_container_findings(*document);
  if (const Finding* broken = first_container_error(findings))
    return refuse(broken->message + " [" + broken->code + "]");
  std::string header(plan.layout.header.size(), '\0');
  if (const Status read = (*opened)->read_exact(0, std::as_writable_bytes(std::span(header))); !read) {
    return refuse(read.error().message);
  }
  return header == plan.layout.header ? Status{} : refuse("does not read back as it was written");
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
  MU_TRY(check_written(plan, output));
  encoder.settle(plan.report);
  if (request.deliver) MU_TRY(request.deliver(plan.report));
  MU_TRY(output.commit());
  return std::move(plan.report);
}

}  // namespace modelutils::requantize

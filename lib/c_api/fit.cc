// The memory estimate as JSON.
#include <cstddef>

#include "c_api/fit_request.h"
#include "c_api/report_text.h"
#include "io/text_output.h"
#include "report/fit_report.h"
#include "to_gguf/plan.h"

using namespace modelutils;
using namespace modelutils::c_api;

namespace {

Status set_cache_type(int32_t wanted, TensorType& type) {
  if (wanted == MU_TYPE_UNKNOWN) return {};
  if (mu_type_name(wanted) == nullptr || !memory::is_cache_type(static_cast<TensorType>(wanted))) {
    return bad_argument("no cache has elements of that type");
  }
  type = static_cast<TensorType>(wanted);
  return {};
}

std::optional<u64> if_stated(u64 number) {
  return number == 0 ? std::nullopt : std::optional<u64>(number);
}

}  // namespace

Result<memory::FitRequest> c_api::fit_request_of(const mu_fit_request* given) {
  memory::FitRequest request;
  if (given == nullptr) return request;
  if (given->struct_size < offsetof(mu_fit_request, v_type) + sizeof(given->v_type)) {
    return bad_argument("struct_size is too small: set it to the size of the structure");
  }
  MU_TRY(check_flags(given->flags, MU_FIT_UNIFIED_CACHE | MU_FIT_NO_FLASH_ATTENTION | MU_FIT_FULL_WINDOWS));
  constexpr u64 most_contexts = 4096;
  if (given->context_count > most_contexts) return bad_argument("context_count is larger than 4096");
  if (given->context_count != 0 && given->contexts == nullptr) return null_argument("contexts");
  for (u64 i = 0; i < given->context_count; ++i) {
    if (given->contexts[i] == 0) return bad_argument("a context is 0");
    request.contexts.push_back(given->contexts[i]);
  }
  if (given->memory != 0 && (given->gpu != 0 || given->ram != 0)) {
    return bad_argument("memory is shared by CPU and GPU and cannot be combined with gpu or ram");
  }
  request.available.gpu = if_stated(given->gpu);
  request.available.ram = if_stated(given->ram);
  request.available.unified = if_stated(given->memory);
  if (given->margin != MU_NONE) request.available.margin = given->margin;
  memory::RunOptions& run = request.run;
  run.sequences = if_stated(given->sequences).value_or(run.sequences);
  run.batch = if_stated(given->batch).value_or(run.batch);
  run.ubatch = if_stated(given->ubatch).value_or(run.ubatch);
  run.unified = (given->flags & MU_FIT_UNIFIED_CACHE) != 0;
  run.flash_attention = (given->flags & MU_FIT_NO_FLASH_ATTENTION) == 0;
  run.full_windows = (given->flags & MU_FIT_FULL_WINDOWS) != 0;
  MU_TRY(set_cache_type(given->k_type, run.k_type));
  MU_TRY(set_cache_type(given->v_type, run.v_type));
  if (!run.flash_attention && type_info(run.v_type).block_elements > 1) {
    return bad_argument("without flash attention, llama.cpp does not accept a quantised V cache");
  }
  return request;
}

Result<memory::FitReport> c_api::fit_of(const Model& model, const memory::FitRequest& request) {
  if (model.gguf) return memory::fit(*model.gguf, request);
  MU_ASSIGN(const gguf::SplitSet planned, to_gguf::planned_model(model.path()));
  return memory::fit(planned, request);
}

mu_status mu_fit(const mu_model* model, const mu_fit_request* request, mu_text** json) {
  return give_report(json, [&](std::string& text) -> Status {
    if (model == nullptr) return null_argument("model");
    MU_ASSIGN(const memory::FitRequest wanted, fit_request_of(request));
    auto report = fit_of(model->opened, wanted);
    if (!report) return tl::make_unexpected(in_file(std::move(report.error()), model->opened.path()));
    TextOutput out(text);
    write_fit_json(out, model->opened.path(), *report);
    return out.flush();
  });
}

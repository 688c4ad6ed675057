#include "convert/requantize/plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <set>
#include <tuple>

#include "base/error.h"
#include "base/not_found.h"
#include "base/text.h"
#include "convert/requantize/encode.h"
#include "formats/gguf/document.h"
#include "formats/gguf/write.h"
#include "io/atomic_output.h"
#include "model/memory/fit.h"
#include "tensor/quantize/quantize.h"

namespace modelutils::requantize {

namespace {

using quantize::MixChoice;
using quantize::MixTensor;
using quantize::TypeOverride;

double bits_of(TensorType type) {
  const TypeInfo& info = type_info(type);
  return 8.0 * info.block_bytes / info.block_elements;
}

// Returns a pattern that matches only this name.
std::string as_pattern(std::string_view name) {
  std::string pattern;
  for (const char c : name) {
    if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
    pattern += c;
  }
  return pattern;
}

class Planner {
 public:
  Planner(const QuantizeRequest& request, Progress& progress)
      : request_(request), progress_(progress), mix_(request.mix) {}

  Result<QuantizePlan> plan() {
    MU_TRY(check_request());
    MU_ASSIGN(plan_.source, open_model_source(request_.input, request_.conversion, request_.threads));
    if (!request_.importance.empty()) {
      MU_ASSIGN(plan_.importance, quantize::ImportanceMatrix::open(request_.importance));
    }
    for (const Tensor& tensor : plan_.source->tensors()) {
      tensors_.push_back({tensor.name, tensor.ne, *tensor.type, plan_.source->stays(tensors_.size())});
    }
    overrides_ = request_.overrides;
    MU_TRY(check_overrides());
    if (!request_.like.empty()) MU_TRY(take_types_of_other());
    if (mix_ == nullptr) mix_ = quantize::mix_from_name("Q4_K_M");
    MU_ASSIGN(choices_, quantize::choose_types(plan_.source->model(), tensors_,
                                               {.mix = mix_,
                                                .pure = request_.pure,
                                                .has_importance = plan_.importance != nullptr,
                                                .overrides = overrides_}));
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      if (!choices_[i].touched) choices_[i].type = plan_.source->kept_type(i);
    }
    if (is_limited() && !plan_.source->only_order().empty()) {
      return pipe_error("--max-size and --gpu read values before they choose types; save it to a file first");
    }
    if (request_.keep_exact) keep_what_gains_nothing();
    if (is_limited()) MU_TRY(fit_into_limits());
    MU_TRY(plan_tensors());
    MU_TRY(lay_out());
    MU_TRY(plan_reading());
    plan_streams();
    report();
    plan_.files.push_back({request_.output, std::move(layout_.header), layout_.file_size});
    return std::move(plan_);
  }

 private:
  bool is_image() const { return plan_.source->model().is_image; }
  bool may_quantize(const MixTensor& tensor) const { return quantize::may_quantize(tensor, is_image()); }

  Status check_request() const {
    if (request_.output.empty() && !request_.dry_run) return usage_error("-o OUTPUT is needed, or --dry-run");
    if (request_.pure && request_.mix == nullptr) return usage_error("--pure needs --type");
    if (!request_.like.empty() && (request_.pure || is_limited())) {
      return usage_error("--like cannot be combined with --pure, --max-size and --gpu");
    }
    if (is_limited() && (request_.pure || request_.mix != nullptr)) {
      return usage_error("--max-size and --gpu choose the types: they cannot be combined with --type and --pure");
    }
    if (request_.context && !request_.gpu) return usage_error("--context needs --gpu");
    if (request_.cache && !request_.gpu) return usage_error("--kv needs --gpu");
    return {};
  }

  // Refuses a pattern that matches no quantisable tensor, since it must be a mistake.
  Status check_overrides() const {
    for (const TypeOverride& one : overrides_) {
      bool selects = false;
      for (std::size_t i = 0; i < tensors_.size() && !selects; ++i) {
        selects = glob_match(one.pattern, tensors_[i].name) && may_quantize(tensors_[i]) && !tensors_[i].stays;
      }
      if (selects) continue;
      ClosestName closest(one.pattern, ClosestName::Reading::glob);
      for (const MixTensor& tensor : tensors_) {
        if (may_quantize(tensor) && !tensor.stays) closest.offer(tensor.name);
      }
      return no_match_error("--tensor",
                            fmt::format("'{}' selects no tensor that may be quantised{}", one.pattern, closest.hint()),
                            request_.input);
    }
    return {};
  }

  // --like: uses the types of equally named tensors; the mix is the one that the other file names.
  Status take_types_of_other() {
    MU_ASSIGN(const gguf::SplitSet set, gguf::open_set(request_.like));
    const gguf::Index index(set.files.front().document);
    if (mix_ == nullptr) {
      mix_ = quantize::mix_of_file_type(index.unsigned_value("general.file_type").value_or(~u64{0}));
    }
    std::set<std::string_view> names;
    for (const Tensor& tensor : plan_.source->tensors()) names.insert(tensor.name);
    u64 taken = 0;
    for (const gguf::SetFile& file : set.files) {
      for (const gguf::TensorInfo& info : file.document.tensors) {
        const auto type = info.type();
        if (!names.contains(info.name) || !type || !has_encoder(*type)) continue;
        overrides_.push_back({as_pattern(info.name), *type});
        ++taken;
      }
    }
    if (taken == 0) {
      return input_error("quantize-like", "has no tensor with the name of a tensor of the model", {}, {},
                         request_.like);
    }
    return {};
  }

  void keep_what_gains_nothing() {
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const TensorType source = tensors_[i].type;
      if (type_info(source).is_quantized && bits_of(choices_[i].type) >= bits_of(source)) choices_[i].type = source;
    }
  }

  bool is_limited() const { return request_.max_size || request_.gpu; }

  Status lay_out_with(std::span<const TensorType> types) {
    for (std::size_t i = 0; i < types.size(); ++i) choices_[i].type = types[i];
    return lay_out();
  }

  // Checks the memory plan of the model with the header laid out so far.
  Result<bool> fits_gpu() const {
    gguf::SplitSet set;
    MU_ASSIGN(gguf::SetFile file, planned_file(layout_.header, layout_.file_size, request_.input));
    set.files.push_back(std::move(file));
    memory::FitRequest wanted;
    if (request_.context) wanted.contexts = {*request_.context};
    if (request_.cache) std::tie(wanted.run.k_type, wanted.run.v_type) = *request_.cache;
    wanted.available.gpu = request_.gpu;
    MU_ASSIGN(const memory::FitReport report, memory::fit(set, wanted));
    if (!report.contexts.empty() && report.contexts.front().fits) return *report.contexts.front().fits;
    return input_error("quantize-memory", "the memory use of this model is not known; use --max-size", {}, {},
                       request_.input);
  }

  Status fit_into_limits() {
    Limits limits;
    limits.max_bytes = request_.max_size;
    limits.size_of = [&](std::span<const TensorType> types) -> Result<u64> {
      MU_TRY(lay_out_with(types));
      return layout_.file_size;
    };
    if (request_.gpu) {
      limits.fits_memory = [&](std::span<const TensorType> types) -> Result<bool> {
        MU_TRY(lay_out_with(types));
        return fits_gpu();
      };
    }
    MU_ASSIGN(Budget budget,
              choose_within(*plan_.source, plan_.importance.get(), choices_, request_, limits, progress_));
    for (std::size_t i = 0; i < choices_.size(); ++i) choices_[i].type = budget.types[i];
    mix_ = budget.mix;
    plan_.report.sample = std::move(budget.sample);
    return {};
  }

  Status plan_tensors() {
    for (const std::size_t i : order()) {
      const Tensor& tensor = plan_.source->tensors()[i];
      const TensorType type = choices_[i].type;
      PlannedTensor planned{.source = i, .type = type, .copied = type == tensor.type};
      if (!planned.copied) {
        MU_ASSIGN(planned.importance, importance_of(plan_.importance.get(), tensor, type, mix_));
        remark_low_source(tensor, type);
      }
      plan_.tensors.push_back(planned);
    }
    remark_unweighted();
    return {};
  }

  tl::unexpected<Error> pipe_error(std::string message) const {
    return input_error("io-pipe", std::move(message), {}, {}, request_.input);
  }

  // An input pipe fixes the reading order, and an output pipe the writing order.
  Status plan_reading() {
    const std::vector<std::size_t>& given = plan_.source->only_order();
    std::vector<std::size_t> places(plan_.tensors.size());  // position in the plan for each source tensor
    for (std::size_t i = 0; i < places.size(); ++i) places[plan_.tensors[i].source] = i;
    for (std::size_t i = 0; i < places.size(); ++i) plan_.reading.push_back(given.empty() ? i : places[given[i]]);
    if (!is_standard_output(request_.output)) return {};
    return check_pipe_order(plan_.reading, request_.input, [&](std::size_t i) {
      return std::string_view(plan_.source->tensors()[plan_.tensors[i].source].name);
    });
  }

  // Warns about quantised tensors without importance. Matrices never contain the embedding, and the output head only on
  // request, so those are no sign of a mismatch.
  void remark_unweighted() {
    if (plan_.importance == nullptr) return;
    constexpr std::size_t most_names = 3;
    std::vector<std::string> names;
    for (const PlannedTensor& planned : plan_.tensors) {
      const std::string_view name = plan_.source->tensors()[planned.source].name;
      const quantize::Role role = quantize::role_of(name);
      const bool is_measured = role != quantize::Role::embedding && role != quantize::Role::output;
      const bool is_quantised = !planned.copied && type_info(planned.type).is_quantized;
      if (is_measured && is_quantised && planned.importance == nullptr) names.emplace_back(name);
    }
    if (names.empty()) return;
    const u64 count = names.size();
    if (count > most_names) {
      names.resize(most_names);
      names.emplace_back("…");
    }
    plan_.report.remarks.warning(
        Scope::model, "imatrix-incomplete",
        fmt::format("{} has no weights for {}, which {} quantised without them: {}", request_.importance,
                    counted(count, "tensor"), verb(count, "is", "are"), joined(names)));
  }

  void remark_low_source(const Tensor& tensor, TensorType type) {
    if (!type_info(*tensor.type).is_quantized || bits_of(*tensor.type) >= bits_of(type)) return;
    plan_.report.remarks.add(
        {.severity = Severity::warning,
         .scope = Scope::model,
         .code = "quantize-gains-nothing",
         .message = fmt::format("{} → {} takes more space and gains nothing (--keep-exact keeps the source type)",
                                type_name(*tensor.type), type_name(type)),
         .where = at_tensor(tensor.name)});
  }

  std::vector<std::size_t> order() const {
    std::vector<std::string_view> names;
    for (const MixTensor& tensor : tensors_) names.push_back(tensor.name);
    return quantize::mix_order(names);
  }

  // Keeps keys, order and dimensions like llama-quantize: keys that it sets move to the end, and trailing dimensions of
  // 1 are dropped. Those of image models stay, as its patch for ComfyUI-GGUF does.
  Status lay_out() {
    std::vector<gguf::OutKey> keys;
    for (const gguf::OutKey& key : plan_.source->keys()) {
      if (key.key == "general.quantization_version" || key.key == "general.file_type" || is_importance_key(key.key)) {
        continue;
      }
      keys.push_back(key);
    }
    keys.push_back(gguf::make_key("general.quantization_version", 2));
    keys.push_back(gguf::make_key("general.file_type", mix_->file_type));
    if (plan_.importance != nullptr) add_importance_keys(keys);
    std::vector<gguf::OutTensor> out;
    for (const std::size_t i : order()) {
      const Tensor& tensor = plan_.source->tensors()[i];
      std::vector<u64> ne(tensor.ne.begin(), tensor.ne.end());
      while (ne.size() > 1 && ne.back() == 1 && !is_image()) ne.pop_back();
      out.push_back({std::string(tensor.name), choices_[i].type, std::move(ne)});
    }
    constexpr u32 version = 3;
    MU_ASSIGN(layout_, gguf::layout(keys, out, plan_.source->alignment(), version,
                                    is_image() ? gguf::image_limits : gguf::ggml_limits));
    return {};
  }

  bool is_importance_key(std::string_view key) const {
    return plan_.importance != nullptr &&
           (key == "quantize.imatrix.file" || key == "quantize.imatrix.dataset" ||
            key == "quantize.imatrix.entries_count" || key == "quantize.imatrix.chunks_count");
  }

  void add_importance_keys(std::vector<gguf::OutKey>& keys) const {
    constexpr std::size_t most = 127;
    const quantize::ImportanceMatrix& matrix = *plan_.importance;
    keys.push_back(gguf::make_key_string("quantize.imatrix.file", request_.importance.substr(0, most)));
    if (!matrix.datasets().empty()) {
      keys.push_back(gguf::make_key_string("quantize.imatrix.dataset", matrix.datasets().front().substr(0, most)));
    }
    keys.push_back(gguf::make_key("quantize.imatrix.entries_count", static_cast<u32>(matrix.entries().size())));
    if (matrix.chunks() > 0) {
      keys.push_back(gguf::make_key("quantize.imatrix.chunks_count", static_cast<u32>(matrix.chunks())));
    }
  }

  void plan_streams() {
    for (const std::size_t i : plan_.reading) {
      const std::size_t source = plan_.tensors[i].source;
      const Tensor& tensor = plan_.source->tensors()[source];
      StreamTensor& stream = plan_.stream.emplace_back();
      stream.rows = rows_of(tensor);
      stream.granule = plan_.source->granule(source);
      // Rows read from a pipe stay in memory until their chunk is encoded.
      constexpr u64 most_taken = u64{4} << 20;
      if (!plan_.source->only_order().empty()) {
        stream.chunk_rows = std::max<u64>(most_taken / std::max<u64>(row_size_of(tensor), 1), 1);
      }
      stream.parts[0] = {layout_.offsets[i], stream.rows == 0 ? 0 : layout_.bytes[i] / stream.rows};
    }
  }

  void report() {
    QuantizeReport& report = plan_.report;
    report.input = request_.input;
    report.output = request_.output;
    report.architecture = plan_.source->model().architecture;
    report.mix = mix_->name;
    report.importance = request_.importance;
    report.file_bytes = layout_.file_size;
    report.source_file_bytes = plan_.source->file_bytes();
    report.source_tensor_bytes = plan_.source->tensor_bytes();
    report.dry_run = request_.dry_run;
    report.remarks.add_all(plan_.source->remarks());
    for (std::size_t i = 0; i < plan_.tensors.size(); ++i) {
      const PlannedTensor& planned = plan_.tensors[i];
      const Tensor& tensor = plan_.source->tensors()[planned.source];
      const MixChoice& choice = choices_[planned.source];
      report.tensors.push_back(
          {.name = std::string(tensor.name),
           .ne = {tensor.ne.begin(), tensor.ne.end()},
           .source = plan_.source->form_text(planned.source),
           .type = planned.type,
           .bytes = layout_.bytes[i],
           .source_bytes = rows_of(tensor) * row_size_of(tensor),
           .copied = planned.copied,
           .weighted = planned.importance != nullptr,
           .undivided = choice.fell_back && planned.type == TensorType::F16,
           .may_change = may_quantize(tensors_[planned.source]) && !tensors_[planned.source].stays,
           .reason = tensors_[planned.source].stays && may_quantize(tensors_[planned.source]) && !is_image()
                         ? "llama.cpp reads no other type here"
                     : choice.fell_back  ? "its rows do not fit the blocks of the requested type"
                     : choice.overridden ? "requested by name"
                                         : ""});
    }
  }

  const QuantizeRequest& request_;
  Progress& progress_;
  const quantize::Mix* mix_;
  std::vector<MixTensor> tensors_;
  std::vector<TypeOverride> overrides_;
  std::vector<MixChoice> choices_;
  gguf::OutLayout layout_;
  QuantizePlan plan_;
};

}  // namespace

Result<const quantize::ImportanceEntry*> importance_of(const quantize::ImportanceMatrix* matrix, const Tensor& tensor,
                                                       TensorType type, const quantize::Mix* mix) {
  const quantize::ImportanceEntry* entry = matrix == nullptr ? nullptr : matrix->find(tensor.name);
  if (entry != nullptr) {
    const u64 wanted = tensor.ne[0] * (tensor.ne.size() > 2 ? tensor.ne[2] : 1);
    if (entry->values != wanted) {
      if (quantize::role_of(tensor.name) != quantize::Role::embedding) {
        return input_error(
            "imatrix-size",
            fmt::format("the importance matrix has {} weights, but the tensor needs {}: it was made from another model",
                        entry->values, wanted),
            at_tensor(tensor.name), {}, matrix->path());
      }
      entry = nullptr;
    }
  }
  const bool needed =
      needs_importance(type) || (mix != nullptr && quantize::mix_needs_importance(tensor.name, type, *mix));
  if (entry == nullptr && needed) {
    return input_error("quantize-needs-importance",
                       fmt::format("{} is unusable without importance weights{}", type_name(type),
                                   matrix == nullptr ? " (--imatrix FILE)" : ", and the matrix has none for it"),
                       at_tensor(tensor.name));
  }
  return entry;
}

Result<QuantizePlan> plan_quantize(const QuantizeRequest& request, Progress& progress) {
  return Planner(request, progress).plan();
}

}  // namespace modelutils::requantize

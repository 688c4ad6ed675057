#include "convert/requantize/quantize_model.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/not_found.h"
#include "convert/requantize/encode.h"
#include "convert/requantize/plan.h"
#include "io/output_place.h"
#include "io/random_access_file.h"
#include "tensor/quantize/quantize.h"
#include "tensor/value_sums.h"

namespace modelutils::requantize {

void TensorError::add(const TensorError& other) {
  plain.add(other.plain);
  weighted.add(other.weighted);
}

u64 QuantizeReport::bytes() const {
  u64 sum = 0;
  for (const QuantizedTensor& tensor : tensors) sum += tensor.bytes;
  return sum;
}

u64 QuantizeReport::source_bytes() const {
  u64 sum = 0;
  for (const QuantizedTensor& tensor : tensors) sum += tensor.source_bytes;
  return sum;
}

u64 QuantizeReport::elements() const {
  u64 sum = 0;
  for (const QuantizedTensor& tensor : tensors) {
    u64 elements = 1;
    for (const u64 ne : tensor.ne) elements *= ne;
    sum += elements;
  }
  return sum;
}

std::vector<std::string> QuantizeReport::recipe() const {
  std::vector<std::string> lines;
  if (!mix.empty()) lines.push_back("type=" + mix);
  for (const QuantizedTensor& tensor : tensors) {
    if (!tensor.may_change) continue;
    std::string pattern;
    for (const char c : tensor.name) {
      if (c == '*' || c == '?' || c == '[' || c == '\\') pattern += '\\';
      pattern += c;
    }
    lines.push_back(pattern + '=' + std::string(type_name(tensor.type)));
  }
  return lines;
}

std::vector<std::size_t> QuantizeReport::worst_first() const {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].measured && !tensors[i].copied) order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tensors[a].error.plain.rms() > tensors[b].error.plain.rms();
  });
  return order;
}

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
  MU_ASSIGN(QuantizePlan plan, plan_quantize(request, progress));
  const OutputOptions options = output_options(plan, request);
  to_gguf::GgufPlan* const projector = plan.source->projector();
  std::vector<const Plan*> plans = {&plan};
  if (projector != nullptr) plans.push_back(projector);
  u64 bytes = 0;
  for (const Plan* each : plans) {
    const std::string& path = each->files.front().path;
    if (request.dry_run && !path.empty()) MU_TRY(AtomicOutput::check(path, options));
    MU_TRY(check_free_space(path, each->bytes()));
    bytes += each->bytes();
  }
  if (request.dry_run) {
    if (projector != nullptr) plan.report.projector = std::move(projector->report);
    return std::move(plan.report);
  }
  std::vector<AtomicOutput> outputs;
  for (const Plan* each : plans) {
    MU_ASSIGN(AtomicOutput output, AtomicOutput::create(each->files.front().path, options));
    outputs.push_back(std::move(output));
  }
  progress.restart("quantising", bytes);
  TensorEncoder encoder(plan, request);
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
  const std::span<AtomicOutput> written = outputs;
  MU_TRY(write_planned(plan, written.first(1), request.threads, encode, progress, take));
  if (projector != nullptr) {
    MU_TRY(to_gguf::write_gguf(*projector, written.subspan(1), request.threads, progress));
    plan.report.projector = std::move(projector->report);
  }
  progress.finish();
  encoder.settle(plan.report);
  if (request.deliver) MU_TRY(request.deliver(plan.report));
  MU_TRY(AtomicOutput::commit_all(written));
  return std::move(plan.report);
}

namespace {

constexpr u64 most_bytes = u64{16} << 20;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace

Result<quantize::TypeOverride> parse_override(std::string_view flag, std::string_view text) {
  const std::size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) {
    return usage_error(fmt::format("{} takes PATTERN=TYPE, such as 'output.weight=Q8_0', not '{}'", flag, text));
  }
  const std::string_view name = trimmed(text.substr(equals + 1));
  const auto type = type_from_name(name);
  if (!type || !has_encoder(*type)) {
    ClosestName closest(name);
    for (const TypeInfo& info : all_types()) {
      if (has_encoder(info.type)) closest.offer(info.name);
    }
    return usage_error(fmt::format("{}: there is no type '{}' to quantise to{}", flag, name, closest.hint()));
  }
  return quantize::TypeOverride{std::string(trimmed(text.substr(0, equals))), *type};
}

namespace {

// Returns the letters and digits of a mix name in upper case, to recognise spellings such as "q4_k-m" ("Q4KM").
std::string letters_and_digits(std::string_view name) {
  std::string kept;
  for (const char c : name) {
    const bool is_lower = c >= 'a' && c <= 'z';
    const bool is_kept = is_lower || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (is_kept) kept += static_cast<char>(is_lower ? c - 'a' + 'A' : c);
  }
  return kept;
}

}  // namespace

Result<const quantize::Mix*> parse_mix(std::string_view flag, std::string_view text) {
  if (const quantize::Mix* mix = quantize::mix_from_name(text)) return mix;
  std::string names;
  for (const quantize::Mix& mix : quantize::all_mixes()) {
    if (letters_and_digits(mix.name) == letters_and_digits(text)) {
      return usage_error(fmt::format("{}: there is no mix '{}' (did you mean '{}'?)", flag, text, mix.name));
    }
    names += (names.empty() ? "" : ", ") + std::string(mix.name);
  }
  return usage_error(fmt::format("{} takes one of {}, not '{}'", flag, names, text));
}

Result<Recipe> read_recipe(const std::string& path) {
  MU_ASSIGN(const auto file, RandomAccessFile::open(path));
  const u64 size = file->file_size();
  if (size > most_bytes) return input_error("quantize-recipe", "is too large for a recipe", {}, {}, path);
  std::string text(size, '\0');
  MU_TRY(file->read_exact(0, std::as_writable_bytes(std::span(text))));
  Recipe recipe;
  u64 number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = trimmed(std::string_view(text).substr(at, end - at));
    at = end + 1;
    ++number;
    if (line.empty() || line.front() == '#') continue;
    const std::string where = fmt::format("line {}", number);
    Status added = [&]() -> Status {
      constexpr std::string_view mix_word = "type=";
      if (line.starts_with(mix_word)) {
        MU_ASSIGN(recipe.mix, parse_mix(where, line.substr(mix_word.size())));
        return {};
      }
      MU_ASSIGN(quantize::TypeOverride one, parse_override(where, line));
      recipe.overrides.push_back(std::move(one));
      return {};
    }();
    if (!added) return input_error("quantize-recipe", added.error().message, {}, {}, path);
  }
  return recipe;
}

}  // namespace modelutils::requantize

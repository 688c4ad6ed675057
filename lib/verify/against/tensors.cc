#include "verify/against/tensors.h"

#include <fmt/core.h>

#include <unordered_map>

#include "base/counted.h"
#include "base/parallel.h"
#include "compare/measure.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

constexpr double tolerated_error = 0.01;

void add_error(FindingLog& log, std::string_view code, const std::string& tensor, std::string message) {
  log.error(Scope::model, code, std::move(message), at_tensor(tensor));
}

Status report(const ParityPair& pair, const Measurement& measured, FindingLog& log) {
  if (measured.equal_values()) return {};
  if (measured.error) return tl::make_unexpected(*measured.error);
  if (!measured.problem.empty()) {
    add_error(log, "parity-type", pair.name, "cannot be compared: " + measured.problem);
    return {};
  }
  MU_ASSIGN(const bool exact, pair.is_exact_form());
  const ValueSums& sums = measured.sums;
  if (exact) {
    add_error(log, "parity-value", pair.name,
              fmt::format("{} of {} {}; the first is element {}: {} instead of {}", sums.different,
                          counted(measured.elements, "value"), verb(sums.different, "differs", "differ"),
                          measured.first, measured.first_b, measured.first_a));
    return {};
  }
  const bool tolerable = sums.rms() <= tolerated_error && sums.unordered == 0;
  std::string message = fmt::format("is {}, which cannot represent the source exactly: relative RMS error {:.2g}{}",
                                    pair.form, sums.rms(), sums.rms() <= tolerated_error ? "" : ", more than 1 %");
  if (sums.unordered > 0) {
    message += fmt::format(", and {} NaN or infinite on one side only", counted(sums.unordered, "value"));
  }
  log.tell(tolerable ? Severity::note : Severity::error, Scope::model, "parity-inexact", std::move(message),
           at_tensor(pair.name));
  return {};
}

}  // namespace

Status compare_pairs(std::span<const ParityPair> pairs, FindingLog& log) {
  std::vector<ValuePair> values;
  for (const ParityPair& pair : pairs) values.push_back({pair.source, pair.converted, 1});
  const std::vector<Measurement> measured = measure(values, {default_threads(), nullptr});
  for (std::size_t i = 0; i < pairs.size(); ++i) MU_TRY(report(pairs[i], measured[i], log));
  return {};
}

Result<FindingLog> compare_with_sources(std::span<const ExpectedSource> sources, const Catalog& catalog) {
  FindingLog log;
  std::vector<ParityPair> pairs;
  std::unordered_map<std::string_view, const CatalogTensor*> left;
  for (const CatalogTensor& tensor : catalog.tensors) left.emplace(tensor.name, &tensor);
  for (const ExpectedSource& source : sources) {
    const auto found = left.find(source.name);
    if (found == left.end()) {
      add_error(log, "parity-missing", source.name, "is in the source, but not in the converted file");
      continue;
    }
    const CatalogTensor* converted = found->second;
    left.erase(found);
    if (converted->ne != source.ne) {
      add_error(log, "parity-shape", source.name,
                fmt::format("has shape {}, but the source gives {}", shape_text(converted->ne), shape_text(source.ne)));
    } else if (!converted->type) {
      add_error(log, "parity-type", source.name, "has a type that cannot be decoded");
    } else {
      const TensorType type = *converted->type;
      pairs.push_back({source.name, source.values,
                       [&catalog, converted] { return std::make_unique<MatrixValues>(values_of(catalog, *converted)); },
                       [&source, type] { return source.is_exact_form(type); }, std::string(type_name(type))});
    }
  }
  for (const CatalogTensor& tensor : catalog.tensors) {
    if (left.contains(tensor.name)) {
      add_error(log, "parity-extra", tensor.name, "is in the converted file, but not in the source");
    }
  }
  MU_TRY(compare_pairs(pairs, log));
  return log;
}

}  // namespace modelutils

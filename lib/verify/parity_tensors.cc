#include "verify/parity_tensors.h"

#include <fmt/format.h>

#include <unordered_map>

#include "base/counted.h"
#include "base/parallel.h"
#include "compare/measure.h"
#include "tensor/shape.h"

namespace modelutils {

namespace {

constexpr double tolerated_error = 0.01;

class Comparer {
 public:
  Comparer(std::span<const ExpectedSource> sources, const Catalog& catalog) : sources_(sources), catalog_(catalog) {}

  Result<FindingLog> compare() {
    pair_tensors();
    std::vector<ValuePair> values;
    for (const Pair& pair : pairs_) {
      const CatalogTensor& converted = *pair.converted;
      values.push_back({pair.source->values, [&] { return values_for_comparison(catalog_, converted); }, 1});
    }
    const std::vector<Measurement> measured = measure(values, {default_threads(), nullptr});
    for (std::size_t i = 0; i < pairs_.size(); ++i) MU_TRY(report(pairs_[i], measured[i]));
    return std::move(log_);
  }

 private:
  struct Pair {
    const ExpectedSource* source;
    const CatalogTensor* converted;
  };

  void error(std::string_view code, const std::string& tensor, std::string message) {
    log_.error(Scope::model, code, std::move(message), at_tensor(tensor));
  }

  void pair_tensors() {
    std::unordered_map<std::string_view, const CatalogTensor*> left;
    for (const CatalogTensor& tensor : catalog_.tensors) left.emplace(tensor.name, &tensor);
    for (const ExpectedSource& source : sources_) {
      const auto found = left.find(source.name);
      if (found == left.end()) {
        error("parity-missing", source.name, "is in the source, but not in the converted file");
        continue;
      }
      const CatalogTensor& converted = *found->second;
      left.erase(found);
      if (converted.ne != source.ne) {
        error("parity-shape", source.name,
              fmt::format("has shape {}, but the source gives {}", shape_text(converted.ne), shape_text(source.ne)));
      } else if (!converted.type) {
        error("parity-type", source.name, "has a type that cannot be decoded");
      } else {
        pairs_.push_back({&source, &converted});
      }
    }
    for (const CatalogTensor& tensor : catalog_.tensors) {
      if (left.contains(tensor.name)) {
        error("parity-extra", tensor.name, "is in the converted file, but not in the source");
      }
    }
  }

  Status report(const Pair& pair, const Measurement& measured) {
    if (measured.equal_values()) return {};
    if (measured.error) return tl::make_unexpected(*measured.error);
    const std::string& name = pair.source->name;
    if (!measured.problem.empty()) {
      error("parity-type", name, "cannot be compared: " + measured.problem);
      return {};
    }
    MU_ASSIGN(const bool exact, pair.source->is_exact_form(*pair.converted->type));
    const ValueSums& sums = measured.sums;
    if (exact) {
      error("parity-value", name,
            fmt::format("{} of {} {}; the first is element {}: {} instead of {}", sums.different,
                        counted(measured.elements, "value"), verb(sums.different, "differs", "differ"), measured.first,
                        measured.first_b, measured.first_a));
      return {};
    }
    const bool tolerable = sums.rms() <= tolerated_error && sums.unordered == 0;
    std::string message = fmt::format("is {}, which cannot represent the source exactly: relative RMS error {:.2g}{}",
                                      type_name(*pair.converted->type), sums.rms(),
                                      sums.rms() <= tolerated_error ? "" : ", more than 1 %");
    if (sums.unordered > 0) {
      message += fmt::format(", and {} NaN or infinite on one side only", counted(sums.unordered, "value"));
    }
    log_.tell(tolerable ? Severity::note : Severity::error, Scope::model, "parity-inexact", std::move(message),
              at_tensor(name));
    return {};
  }

  std::span<const ExpectedSource> sources_;
  const Catalog& catalog_;
  std::vector<Pair> pairs_;
  FindingLog log_;
};

}  // namespace

Result<FindingLog> compare_with_sources(std::span<const ExpectedSource> sources, const Catalog& converted) {
  return Comparer(sources, converted).compare();
}

}  // namespace modelutils

// Assembles a GGUF tensor from the matrices that a row names: views, stacks, joined parts, operations. Shared by the
// maps of language models and of projectors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "arch/loader_forms.h"
#include "arch/names.h"
#include "base/error.h"
#include "convert/to_gguf/sources.h"
#include "convert/to_gguf/tensor_map.h"
#include "model/hf_model.h"

namespace modelutils {

/// Returns the shape that a row states for its source, in safetensors order; nullopt if it states none.
std::optional<std::vector<u64>> stored_shape(const arch::Tensor& row, const arch::Sizes& sizes, u64 layer);

class PartPlacer {
 public:
  /// `family` provides the factors that rows name. Both arguments must outlive the placer.
  PartPlacer(const HfModel& model, const arch::Family& family) : model_(model), family_(family) {}

  /// Makes the tensor that a row expects from the parts of one alternative. Errors: "convert-config" (no shape),
  /// "convert-shape", "convert-experts"; those of reading.
  Result<MappedTensor> make(const arch::ExpectedTensor& expected, const arch::SourceAlternative& alternative,
                            const std::vector<const PartMatrices*>& parts, const arch::Sizes& sizes) const;

  /// Adds the rows of one part, for all its experts.
  Status add_part(const arch::ExpectedTensor& expected, const arch::SourcePart& part, bool is_alone,
                  const PartMatrices& matrices, const arch::Sizes& sizes, MappedTensor& tensor) const;

 private:
  tl::unexpected<Error> fail(std::string code, std::string where, std::string message) const {
    return input_error(std::move(code), std::move(message), std::move(where), {}, model_.directory);
  }
  tl::unexpected<Error> fail_at(const arch::ExpectedTensor& expected, std::string code, std::string message) const {
    return fail(std::move(code), at_tensor(expected.name), std::move(message));
  }
  bool is_vector(const std::vector<const PartMatrices*>& parts) const;
  tl::unexpected<Error> wrong_shape(const arch::ExpectedTensor& expected, const Weight& matrix,
                                    std::optional<u64> stacked = {}) const;
  Status check_shape(const arch::ExpectedTensor& expected, const Weight& matrix, std::optional<u64> stacked,
                     const arch::Sizes& sizes) const;
  Status check_rows(const arch::ExpectedTensor& expected, const MappedTensor& tensor) const;

  const HfModel& model_;
  const arch::Family& family_;
};

}  // namespace modelutils

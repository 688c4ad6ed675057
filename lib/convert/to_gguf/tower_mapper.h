// Maps one tower of a directory to the tensors of a projector file, by the rows in lib/arch/projectors.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "arch/projector_family.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "base/log.h"
#include "convert/to_gguf/tensor_map.h"
#include "convert/to_gguf/tower_sources.h"
#include "formats/hf/config.h"
#include "model/hf_model.h"
#include "tensor/types.h"

namespace modelutils {

/// Faults of towers: the first one ends a conversion, a check logs all of them.
class FaultLog {
 public:
  explicit FaultLog(FindingLog* log) : log_(log) {}
  bool is_kept() const { return log_ != nullptr; }

  /// Returns the error unless it is logged.
  Status judge(Status status) const {
    if (status || log_ == nullptr) return status;
    log_->add(without_path(status.error(), Scope::model));
    return {};
  }
  template <typename T>
  Status judge(const Result<T>& result) const {
    return result ? Status() : judge(Status(tl::make_unexpected(result.error())));
  }

 private:
  FindingLog* log_;
};

/// A tower and the directory that has it.
struct TowerSource {
  const HfModel& model;
  const std::map<std::string_view, std::size_t>& names;  ///< positions of the model's matrices
  const arch::ProjectorFamily& family;
  const hf::Config& config;  ///< hf::load_projector_config()
};

/// Adds the tower's tensors to `map`, and marks the matrices that it uses. Errors: those of map_projector().
Result<arch::Sizes> map_tower(const TowerSource& source, TowerRoots roots, std::optional<TensorType> type,
                              FaultLog faults, TensorMap& map, std::vector<bool>& used);

}  // namespace modelutils

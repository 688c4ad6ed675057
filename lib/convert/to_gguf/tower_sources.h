// Locates a tower in a directory: the prefixes of its parts, the sources of its rows, and the sizes that shapes and
// settings determine.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/geometry.h"
#include "arch/names.h"
#include "arch/projector_tensors.h"
#include "base/error.h"
#include "convert/to_gguf/sources.h"
#include "model/hf_model.h"

namespace modelutils {

/// The prefix of each of a tower's roots in a directory; nullopt for an optional root that it does not have.
using TowerRoots = std::vector<std::optional<std::string>>;

/// Finds the prefixes among the directory's names. Error "convert-projector": no tensor has a root's prefix, or tensors
/// have two different ones.
Result<TowerRoots> find_roots(const arch::ProjectorFamily& family, const std::vector<std::string_view>& names,
                              const std::string& directory);

class TowerSources {
 public:
  /// All arguments must outlive it. `names` maps the names of the model's matrices to their positions.
  TowerSources(const HfModel& model, const std::map<std::string_view, std::size_t>& names,
               const arch::ProjectorFamily& family, const hf::Config& config, TowerRoots roots);

  /// Solves the sizes: settings first, then shapes, then fallbacks. `known` holds sizes known from elsewhere. Error:
  /// "convert-config".
  Result<arch::Sizes> solve(arch::Sizes known);

  /// Returns the tensors in output order. Error "convert-config": a shape that nothing determines.
  Result<std::vector<arch::TowerTensor>> expected(const arch::Sizes& sizes) const;

  struct Found {
    const arch::SourceAlternative* alternative = nullptr;
    std::vector<const PartMatrices*> parts;  ///< empty if the directory does not have them
  };
  /// Returns the first alternative whose condition holds and whose parts are all present.
  Found find(const arch::TowerTensor& tensor, const arch::Sizes& sizes) const;
  /// Returns the name of the first source of a tensor, as this directory would spell it.
  std::string source_name(const arch::TowerTensor& tensor, const arch::Sizes& sizes) const;

  const TowerRoots& roots() const { return roots_; }

 private:
  std::string_view group_prefix(const arch::ProjectorGroup& group) const;
  std::vector<u64> numbers_of(const arch::ProjectorGroup& group, const arch::Sizes& sizes) const;
  std::string full_name(const arch::TowerTensor& tensor, const arch::SourcePart& part) const;
  const std::vector<arch::SourceAlternative>& alternatives(const arch::Tensor& row) const;
  void add_facts(const arch::Sizes& sizes, std::vector<arch::ShapeFact>& facts) const;
  void solve_from_shapes(arch::Sizes& sizes) const;
  std::optional<u64> stated(const arch::Key& key) const;
  tl::unexpected<Error> refuse(std::string_view field, std::string message) const;

  const HfModel& model_;
  const std::map<std::string_view, std::size_t>& names_;
  const arch::ProjectorFamily& family_;
  const hf::Config& config_;
  TowerRoots roots_;
  std::vector<PartMatrices> places_;  // one per matrix
  mutable std::map<const arch::Tensor*, std::vector<arch::SourceAlternative>> parsed_;
};

}  // namespace modelutils

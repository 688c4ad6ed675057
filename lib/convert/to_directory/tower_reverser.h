// Converts one tower of a projector file back to the tensors and settings of a directory, by inverting the rows in
// lib/arch/projectors. Reads only the header.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "arch/projector_family.h"
#include "arch/projector_tensors.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "convert/to_directory/projector_back.h"
#include "formats/gguf/document.h"
#include "formats/gguf/split_set.h"
#include "model/catalog.h"

namespace modelutils {

class TowerReverser {
 public:
  /// All arguments must outlive it. `index` belongs to the set's first file, `catalog` is catalog_of(set), `text` is
  /// the language model.
  TowerReverser(const arch::ProjectorFamily& family, const gguf::SplitSet& set, const gguf::Index& index,
                const Catalog& catalog, const gguf::SplitSet& text, bool is_mlx);

  /// Adds the tower's tensors and members, and marks the tensors of the file that it uses. Errors: "convert-missing",
  /// "convert-shape", "convert-reverse", "config-key".
  Status add_to(ProjectorBack& back, std::vector<bool>& used);

 private:
  tl::unexpected<Error> fail(std::string code, std::string_view tensor, std::string message) const;
  bool is_text(const arch::ProjectorGroup& group) const;
  std::vector<u64> numbers_of(const arch::ProjectorGroup& group) const;
  void solve();
  u64 flag_of(std::string_view symbol);
  void solve_from_shapes();
  bool solve_from(const arch::TowerTensor& tensor, const Tensor& stored);
  Status place_group(const arch::ProjectorGroup& group, std::size_t number, ProjectorBack& back,
                     std::vector<bool>& used);
  Status place(const arch::TowerTensor& expected, std::size_t index, ProjectorBack& back);
  Status add_part(const arch::TowerTensor& expected, const arch::SourcePart& part, std::size_t index, u64& first,
                  ProjectorBack& back);
  Result<DirectoryTensor> start(const arch::TowerTensor& expected, const arch::SourcePart& part, const Tensor& tensor,
                                bool has_view) const;
  void copy_last_layers(ProjectorBack& back) const;
  Status describe(ProjectorBack& back) const;

  const arch::ProjectorFamily& family_;
  const gguf::SplitSet& set_;
  const gguf::Index& index_;
  const Catalog& catalog_;
  const gguf::SplitSet& text_;
  const bool is_mlx_;
  arch::Sizes sizes_;
  std::unordered_map<std::string_view, std::size_t> by_name_;
  std::map<std::string, std::size_t> places_;
};

}  // namespace modelutils

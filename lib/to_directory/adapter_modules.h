// The pairs of a GGUF adapter as pairs of a directory: lib/adapter's mapping read backwards.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "adapter/gguf_adapter.h"
#include "adapter/pairs.h"
#include "base/error.h"
#include "model/tensor_catalog.h"
#include "to_directory/tensor_map.h"

namespace modelutils::to_directory {

/// The factors of one matrix of a stack.
struct MatrixFactors {
  std::vector<float> a;  ///< [rank, in]
  std::vector<float> b;  ///< [out, rank]
};

/// The factors of a module; W becomes W + scale × B·A.
struct ModuleFactors {
  u64 rank = 0;  ///< 0: it has no part in the adapter
  double scale = 1;
  std::vector<MatrixFactors> stack;
};

/// A module of the base that the adapter changes, and what of which pairs is its own.
struct AdapterModule {
  /// Rows of a pair that are the module's.
  struct Piece {
    std::size_t pair = 0;  ///< index into AdapterModules::pairs
    u64 slice = 0;         ///< of the pair's tensors
    u64 source_slice = 0;  ///< of the module's stack
    const adapter::RowUse* use = nullptr;
    bool is_shared = false;  ///< other modules have rows of the same slice
  };
  std::string name;  ///< as the directory has it, without ".weight"
  u64 out = 0;
  u64 in = 0;
  u64 stack = 1;
  bool is_embedding = false;
  std::vector<Piece> pieces;
};

/// What the pairs of a GGUF adapter are in a directory. Views into the catalog and the document of the file.
class AdapterModules {
 public:
  /// `pairs` and `catalog` are of the same file, and must outlive it. Errors of kind input: "adapter-target" (a tensor
  /// that the base does not have), "adapter-pair" (other sizes, or a layout that cannot be undone).
  static Result<AdapterModules> map(const adapter::GgufAdapter& pairs, const Catalog& catalog,
                                    const adapter::Base& base, DirectoryStyle style);

  const std::vector<AdapterModule>& list() const { return modules_; }
  /// Reads the factors of a module: those of one matrix where all of its pairs have the same A, else one after another.
  /// Without what only fills a pair up to a rank. Errors: reading.
  Result<ModuleFactors> read(const AdapterModule& module) const;

 private:
  struct Half {
    std::vector<float> a, b;  // [slices, rank, columns], [slices, rows, rank]
  };
  Result<Half> read_pair(std::size_t number) const;

  const adapter::GgufAdapter* pairs_ = nullptr;
  const Catalog* catalog_ = nullptr;
  std::vector<AdapterModule> modules_;
  std::shared_ptr<adapter::MappedAdapter> mapped_;  // what the pieces view
};

}  // namespace modelutils::to_directory

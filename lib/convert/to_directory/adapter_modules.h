// Converts the pairs of a GGUF adapter to modules of a directory, by inverting lib/model/adapter's mapping, and writes
// adapter_config.json for PEFT and for mlx-lm.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "convert/to_directory/tensor_map.h"
#include "model/adapter/pairs.h"
#include "model/catalog.h"

namespace modelutils::to_directory {

/// The factors of one matrix in a stack.
struct MatrixFactors {
  std::vector<float> a;  ///< [rank, in]
  std::vector<float> b;  ///< [out, rank]
};

/// The factors of a module: W becomes W + scale × B·A.
struct ModuleFactors {
  u64 rank = 0;  ///< 0 if the adapter does not change the module
  double scale = 1;
  std::vector<MatrixFactors> stack;
};

/// A module of the base that the adapter changes, and the parts of pairs that belong to it.
struct AdapterModule {
  /// The rows of one pair that belong to the module.
  struct Piece {
    std::size_t pair = 0;  ///< index into AdapterModules::pairs
    u64 slice = 0;         ///< in the pair's tensors
    u64 source_slice = 0;  ///< in the module's stack
    const adapter::RowUse* use = nullptr;
    bool is_shared = false;  ///< other modules also use rows of this slice
  };
  std::string name;  ///< as in the directory, without ".weight"
  u64 out = 0;
  u64 in = 0;
  u64 stack = 1;
  bool is_embedding = false;
  std::vector<Piece> pieces;
};

/// The modules that a GGUF adapter changes. Refers to the file's catalog and document.
class AdapterModules {
 public:
  /// `pairs` and `catalog` belong to the same file and must outlive the result. Errors of kind input: "adapter-target"
  /// (the base lacks the tensor), "adapter-pair" (wrong sizes, or a layout that cannot be inverted).
  static Result<AdapterModules> map(const adapter::GgufAdapter& pairs, const Catalog& catalog,
                                    const adapter::Base& base, DirectoryStyle style);

  const std::vector<AdapterModule>& list() const { return modules_; }
  /// Reads the factors of a module. Pairs with the same A share its rows; otherwise their ranks are concatenated.
  /// Leaves out zero rows that only pad a pair to a rank. Errors: those of reading.
  Result<ModuleFactors> read(const AdapterModule& module) const;

 private:
  struct Half {
    std::vector<float> a, b;  // [slices, rank, columns], [slices, rows, rank]
  };
  Result<Half> read_pair(std::size_t number) const;

  const adapter::GgufAdapter* pairs_ = nullptr;
  const Catalog* catalog_ = nullptr;
  std::vector<AdapterModule> modules_;
  std::shared_ptr<adapter::MappedAdapter> mapped_;  // owns the RowUse objects that pieces point to
};

// Writes adapter_config.json for PEFT and for mlx-lm.

/// A module as planned for the output.
struct PlannedModule {
  const AdapterModule* module = nullptr;
  u64 rank = 0;
  double scale = 1;

  /// PEFT's alpha, which PEFT divides by the rank to get the scale.
  double alpha() const { return scale * static_cast<double>(rank); }
};

struct AdapterConfigFacts {
  std::vector<PlannedModule> modules;  ///< at least one
  std::string base_model;              ///< may be empty
  std::vector<u64> invocation_tokens;  ///< for aLoRA
  bool ties_head = false;              ///< the embedding's change also applies to the tied head

  u64 largest_rank() const;
  /// Returns the scale that most modules have. mlx-lm's config holds only one.
  double common_scale() const;
};

/// lora_alpha and r are the most common values; alpha_pattern and rank_pattern list the modules that differ.
std::string peft_adapter_config(const AdapterConfigFacts& facts);
std::string mlx_adapter_config(const AdapterConfigFacts& facts, const adapter::Base& base);

}  // namespace modelutils::to_directory

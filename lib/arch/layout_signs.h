// Finds out whether a directory's tensors are laid out as mlx-lm saves them or as published, from the names and shapes
// that each family's rows define (docs/conversion.md, "Weak and strong signals").
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "arch/family.h"
#include "hf/config.h"

namespace modelutils::arch {

/// Collects the signs in one directory. The names must outlive it.
class LayoutSigns {
 public:
  /// `config` gives the layer count; layers after the last one are ignored.
  LayoutSigns(const Family& family, const hf::Config& config) : family_(family), config_(config) {}

  /// Examines a tensor by its name in the file and its shape in safetensors order.
  void see(std::string_view name, std::span<const u64> shape);

  /// Return the first tensor with each layout; empty if there is none.
  std::string_view of_mlx() const { return mlx_; }
  std::string_view as_published() const { return published_; }

 private:
  const Family& family_;
  const hf::Config& config_;
  std::string_view mlx_, published_;
};

}  // namespace modelutils::arch

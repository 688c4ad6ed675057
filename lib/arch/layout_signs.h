// Whether the tensors of a directory are laid out as mlx-lm saves them or as they were published: the signs that each
// family's rows name, found in names and shapes (docs/conversion.md, "Weak and strong signals").
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "arch/family.h"
#include "hf/config.h"

namespace modelutils::arch {

/// Collects the signs of one directory. The names must outlive it.
class LayoutSigns {
 public:
  /// `config` says which layers come after the last one; these prove nothing.
  LayoutSigns(const Family& family, const hf::Config& config) : family_(family), config_(config) {}

  /// A tensor by its name in the file, and its shape in safetensors order.
  void see(std::string_view name, std::span<const u64> shape);

  /// The first tensors that tell; empty if none does.
  std::string_view of_mlx() const { return mlx_; }
  std::string_view as_published() const { return published_; }

 private:
  const Family& family_;
  const hf::Config& config_;
  std::string_view mlx_, published_;
};

}  // namespace modelutils::arch

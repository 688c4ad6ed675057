// Hyper-parameters of config.json as keys of a GGUF.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "base/finding_log.h"
#include "gguf/write.h"
#include "hf/config.h"

namespace modelutils::arch {

/// Writes the keys of one model: what the functions of rows and checks work with. The first failure is kept; what is
/// written after it does not matter.
class KeyWriter {
 public:
  KeyWriter(const Family& family, const hf::Config& config, const Sizes& sizes, bool is_mlx)
      : family_(family), config_(config), sizes_(sizes), is_mlx_(is_mlx) {}

  const Family& family() const { return family_; }
  const hf::Config& config() const { return config_; }
  const Sizes& sizes() const { return sizes_; }
  bool is_mlx() const { return is_mlx_; }
  u64 size(std::string_view symbol) const { return sizes_.get(symbol); }

  /// Keys behind "<architecture>.". Errors "convert-config": a number that does not fit.
  Status count(std::string_view name, u64 value);
  /// One for each layer: INT32, as llama.cpp's converter writes lists.
  Status counts(std::string_view name, const std::vector<u64>& values);
  Status real(std::string_view name, double value);
  void flag(std::string_view name, bool value);
  void flags(std::string_view name, const std::vector<bool>& values);
  void reals(std::string_view name, const std::vector<float>& values);  ///< one for each layer
  void text(std::string_view name, std::string_view value);
  /// A number for each layer where they differ, otherwise one.
  Status count_or_layers(std::string_view name, const std::vector<u64>& values);

  void remark(Severity severity, std::string_view field, std::string message);
  void warn(std::string_view field, std::string message) { remark(Severity::warning, field, std::move(message)); }
  /// Error "convert-config" at a field of config.json.
  tl::unexpected<Error> refuse(std::string_view field, std::string message) const;

  std::vector<gguf::OutKey> keys;
  FindingLog remarks;

 private:
  std::string key(std::string_view name) const;

  const Family& family_;
  const hf::Config& config_;
  const Sizes& sizes_;
  bool is_mlx_;
};

/// A number as rows write it: "1e-5". Nothing if it is none.
std::optional<double> decimal_of(std::string_view text);

struct ModelKeys {
  std::vector<gguf::OutKey> keys;
  FindingLog remarks;  ///< code "convert-remark", scope model
};

/// All keys "<architecture>.…" of a model, in the order of the family's rows, after its limits were checked. Errors:
/// "convert-config" (a setting that the runtime does not have, a number that is missing or does not fit).
Result<ModelKeys> write_keys(const Family& family, const hf::Config& config, const Sizes& sizes, bool is_mlx);

/// Refuses what the runtime cannot compute whatever the tensors are: fixed settings of severity error. Error
/// "convert-architecture".
Status refuse_unsupported(const Family& family, const hf::Config& config, const Sizes& sizes);

}  // namespace modelutils::arch

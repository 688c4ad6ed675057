// Converts hyper-parameters of config.json to keys of a GGUF.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arch/family.h"
#include "arch/sizes.h"
#include "base/error.h"
#include "base/log.h"
#include "formats/gguf/write.h"
#include "formats/hf/config.h"

namespace modelutils::arch {

/// Collects the keys of one model for the functions of rows and checks, which also read config.json through it.
class KeyWriter {
 public:
  KeyWriter(const Family& family, const hf::Config& config, const Sizes& sizes, bool is_mlx)
      : family_(family), config_(config), sizes_(sizes), is_mlx_(is_mlx) {}

  const Family& family() const { return family_; }
  const hf::Config& config() const { return config_; }
  const Sizes& sizes() const { return sizes_; }
  bool is_mlx() const { return is_mlx_; }
  u64 size(std::string_view symbol) const { return sizes_.get(symbol); }

  /// Writes an unsigned number. Keys are named without "<architecture>.". Error "convert-config": the number does not
  /// fit into the key's type.
  Status count(std::string_view name, u64 value);
  /// Writes one number per layer as an INT32 array, as llama.cpp's converter does.
  Status counts(std::string_view name, const std::vector<u64>& values);
  void integers(std::string_view name, const std::vector<i32>& values);
  /// Writes a float32. Error "convert-config": the value is not finite as float32.
  Status real(std::string_view name, double value);
  void flag(std::string_view name, bool value);
  void flags(std::string_view name, const std::vector<bool>& values);
  void reals(std::string_view name, const std::vector<float>& values);  ///< one per layer
  void text(std::string_view name, std::string_view value);
  void texts(std::string_view name, const std::vector<std::string>& values);
  /// Writes one number if all layers have the same, otherwise one per layer.
  Status count_or_layers(std::string_view name, const std::vector<u64>& values);

  /// Adds a remark about a field of config.json.
  void remark(Severity severity, std::string_view field, std::string message);
  void warn(std::string_view field, std::string message) { remark(Severity::warning, field, std::move(message)); }
  /// Returns error "convert-config", located at a field of config.json.
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

/// Parses a number as rows write it ("1e-5"). Returns nullopt if the text is not a number.
std::optional<double> decimal_of(std::string_view text);

struct ModelKeys {
  std::vector<gguf::OutKey> keys;
  FindingLog remarks;  ///< code "convert-remark", scope model
};

/// Checks the family's limits, then returns all keys "<architecture>.…" of a model in the order of the family's rows.
/// Error "convert-config": a setting that the runtime lacks, or a number that is missing or does not fit.
Result<ModelKeys> write_keys(const Family& family, const hf::Config& config, const Sizes& sizes, bool is_mlx);

/// Refuses fixed settings of severity error, which the runtime cannot compute for any tensors. Error
/// "convert-architecture".
Status refuse_unsupported(const Family& family, const hf::Config& config, const Sizes& sizes);

}  // namespace modelutils::arch

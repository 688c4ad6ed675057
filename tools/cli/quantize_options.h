// The options of gguf-quantize, most of which mlx2gguf shares.
#pragma once

#include "cli/command.h"
#include "convert/requantize/quantize_model.h"

namespace modelutils::cli {

/// The options that choose tensor types.
struct TypeArguments {
  std::optional<std::string> type, recipe, like, importance, kv;
  std::vector<std::string> tensors;
  std::optional<u64> max_size, gpu, context;
  bool pure = false, keep_exact = false, correct = false;

  /// True if any of them is given.
  bool is_wanted() const;
  /// Stores the values in `request`. Errors: usage; those of read_recipe().
  Status settle(requantize::QuantizeRequest& request) const;
};

void add_type_flags(Command& command, TypeArguments& arguments);

/// Adds --arch and --max-dims.
void add_image_flags(Command& command, to_gguf::MlxToGgufOptions& convert);
/// Error: usage.
Status check_image_flags(const to_gguf::MlxToGgufOptions& convert);

/// Adds --lora, which is repeatable.
void add_lora_flag(Command& command, std::vector<std::string>& adapters);
/// Parses the values of --lora. Error: usage.
Result<std::vector<adapter::Wanted>> wanted_adapters(const std::vector<std::string>& texts);

struct QuantizeArguments {
  requantize::QuantizeRequest request;
  TypeArguments types;
  std::vector<std::string> adapters;
  std::optional<u64> threads;
  std::string report;
  bool follow_links = false;
};

/// Defines all flags. parse() fills `arguments`, which must outlive the command.
Command quantize_command(QuantizeArguments& arguments);

}  // namespace modelutils::cli

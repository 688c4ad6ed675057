// The options of gguf-quantize, most of which mlx2gguf has as well.
#pragma once

#include "cli/command.h"
#include "requantize/quantize_model.h"

namespace modelutils::cli {

/// What chooses types.
struct TypeArguments {
  std::optional<std::string> type, recipe, like, importance;
  std::vector<std::string> tensors;
  std::optional<u64> max_size, gpu, context;
  bool pure = false, keep_exact = false, correct = false;

  /// Is anything given?
  bool is_wanted() const;
  /// Takes the words above over. Errors: usage; those of read_recipe().
  Status settle(requantize::QuantizeRequest& request) const;
};

void add_type_flags(Command& command, TypeArguments& arguments);

/// --lora, repeatable.
void add_lora_flag(Command& command, std::vector<std::string>& adapters);
/// What it says. Error: usage.
Result<std::vector<adapter::Wanted>> wanted_adapters(const std::vector<std::string>& texts);

struct QuantizeArguments {
  requantize::QuantizeRequest request;
  TypeArguments types;
  std::vector<std::string> adapters;
  std::optional<u64> threads;
  std::string report;
  bool follow_links = false;
};

/// Every flag; parse() fills `arguments`, which must outlive the command.
Command quantize_command(QuantizeArguments& arguments);

}  // namespace modelutils::cli

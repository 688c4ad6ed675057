// The options of --fit, shared by both dumpers.
#pragma once

#include "cli/command.h"
#include "model/memory/fit.h"

namespace modelutils::cli {

struct FitArguments {
  bool fit = false;
  std::optional<std::string> contexts;
  std::optional<std::string> kv;
  std::optional<std::string> flash_attention;
  std::optional<std::string> mmproj;
  std::optional<std::string> gpu;  ///< one size, or several separated by commas
  std::optional<u64> ram, memory, mac, margin;
  std::optional<u64> sequences, batch, ubatch;
  bool unified = false;
  bool full_windows = false;
};

void add_fit_flags(Command& command, FitArguments& arguments);

/// Returns the calculation to perform, or nullopt without --fit. Errors: options that require --fit, contradictory
/// options, invalid values.
Result<std::optional<memory::FitRequest>> fit_request(const FitArguments& arguments);

}  // namespace modelutils::cli

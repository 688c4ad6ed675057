// The command line of verify.
#pragma once

#include "cli/command.h"
#include "verify/verify.h"

namespace modelutils::cli {

struct VerifyArguments {
  VerifyOptions verify;
  std::vector<std::string> paths;
  std::optional<std::string> hash;
  std::optional<u64> jobs;
  bool strict = false;
  bool follow_links = false;
  bool json = false;
  std::optional<std::string> format;
  std::optional<std::string> explain;
  std::optional<std::string> policy, sbom, signature, key, certificate;
};

/// Defines all flags. parse() fills `arguments`, which must outlive the command.
Command verify_command(VerifyArguments& arguments);

}  // namespace modelutils::cli

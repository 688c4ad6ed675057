// The token flags, shared by both dumpers.
#pragma once

#include "cli/dump_options.h"

namespace modelutils::cli {

void add_token_flags(Command& command, DumpArguments& arguments);

/// Returns the requested tokens, or nullopt if none are requested. Errors: contradictory or invalid flags, an
/// unreadable text file.
Result<std::optional<TokenRequest>> token_request(const DumpArguments& arguments);

}  // namespace modelutils::cli

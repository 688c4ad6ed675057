// The flags about tokens, of both dumpers.
#pragma once

#include "cli/dump_options.h"

namespace modelutils::cli {

void add_token_flags(Command& command, DumpArguments& arguments);

/// Nothing if no tokens are asked for. Errors: flags that contradict each other or are not understood, a file with the
/// text that cannot be read.
Result<std::optional<TokenRequest>> token_request(const DumpArguments& arguments);

}  // namespace modelutils::cli

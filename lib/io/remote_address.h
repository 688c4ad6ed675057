// Addresses of models: https://…, http://… and hf://ORG/REPO[@REVISION]/PATH, a file of the Hugging Face Hub.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace modelutils {

/// Is `path` an address, and not a file's name? True for everything of the form SCHEME://…, also for schemes that
/// resolve_address() refuses.
bool is_address(std::string_view path);

/// What is asked for, and with which token.
struct RemoteAddress {
  std::string url;
  std::string token;  ///< for the origin of `url` alone; empty for none
};

/// The web address of `path`. HF_ENDPOINT says where the Hub is. A token (HF_TOKEN, HUGGING_FACE_HUB_TOKEN, the file
/// HF_TOKEN_PATH or $HF_HOME/token) goes with hf:// only, and only over https or to this machine. Errors are of wrong
/// usage: another scheme, a user or password in the address, control characters, "..", hf:// without a path in the
/// repository. "remote-offline" where HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set.
Result<RemoteAddress> resolve_address(const std::string& path);

}  // namespace modelutils

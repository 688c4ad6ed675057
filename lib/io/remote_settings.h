// What the environment and the command line say about requests.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// Set by the tools before anything is opened, once for a process.
struct RemoteSettings {
  bool allow_private_redirect = false;  ///< a redirect may lead from a public server to a private address
  bool no_cache = false;                ///< of headers
  std::optional<u64> timeout = {};      ///< --timeout: seconds, instead of HF_HUB_DOWNLOAD_TIMEOUT
  /// Gets a line when a request is tried again.
  void (*on_retry)(const std::string& file, const std::string& text) = nullptr;
};
RemoteSettings& remote_settings();

/// The value of an environment variable; nothing if it is not set or empty.
std::optional<std::string> environment_variable(const char* name);

/// A number without sign in decimal digits; nothing for anything else, and for what 64 bits do not hold.
std::optional<u64> whole_number(std::string_view text);

/// HF_TOKEN, HUGGING_FACE_HUB_TOKEN, or the first line of the file HF_TOKEN_PATH or $HF_HOME/token, without spaces
/// around it. Empty if there is none, with HF_HUB_DISABLE_IMPLICIT_TOKEN, and for what cannot stand in a header.
std::string hub_token();

/// "remote-offline" where HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set.
Status check_online();

/// The longest time without a byte, in seconds, that RemoteSettings or HF_HUB_DOWNLOAD_TIMEOUT says: 1 to
/// most_silence, 10 if neither says anything.
u64 longest_silence();
inline constexpr u64 most_silence = 600;

}  // namespace modelutils

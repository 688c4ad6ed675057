// Settings for requests, from the environment and the command line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

/// The tools set these once per process, before opening anything.
struct RemoteSettings {
  bool allow_private_redirect = false;  ///< allow redirects from a public server to a private address
  bool no_cache = false;                ///< disables the cache of headers
  std::optional<u64> timeout = {};      ///< --timeout in seconds; replaces HF_HUB_DOWNLOAD_TIMEOUT
  /// Called with a line of text when a request is retried.
  void (*on_retry)(const std::string& file, const std::string& text) = nullptr;
};
/// Returns the settings of this process.
RemoteSettings& remote_settings();

/// Returns the value of an environment variable, or nullopt if it is unset or empty.
std::optional<std::string> environment_variable(const char* name);

/// Parses an unsigned decimal number. Returns nullopt for any other text and for numbers beyond 64 bits.
std::optional<u64> whole_number(std::string_view text);

/// Returns HF_TOKEN, HUGGING_FACE_HUB_TOKEN, or the first line of the file HF_TOKEN_PATH or $HF_HOME/token, without
/// surrounding spaces. Empty if there is none, if HF_HUB_DISABLE_IMPLICIT_TOKEN is set, or if the token contains
/// characters not allowed in an HTTP header.
std::string hub_token();

/// Returns "remote-offline" if HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set.
Status check_online();

/// Longest time without data before a request fails, in seconds, from RemoteSettings or HF_HUB_DOWNLOAD_TIMEOUT: 1 to
/// most_silence, by default 10.
u64 longest_silence();
inline constexpr u64 most_silence = 600;

}  // namespace modelutils

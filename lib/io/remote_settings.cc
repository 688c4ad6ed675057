#include "io/remote_settings.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include <fmt/core.h>

namespace modelutils {

namespace {

constexpr std::size_t max_token = 4096;
constexpr std::string_view token_characters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=";

bool is_on(const char* name) {
  const auto value = environment_variable(name);
  if (!value) return false;
  for (const char* on : {"1", "ON", "YES", "TRUE"}) {
    if (::strcasecmp(value->c_str(), on) == 0) return true;
  }
  return false;
}

std::string trimmed(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  const auto first = text.find_first_not_of(space);
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(space) - first + 1));
}

std::string token_file() {
  if (const auto path = environment_variable("HF_TOKEN_PATH")) return *path;
  if (const auto home = environment_variable("HF_HOME")) return *home + "/token";
  if (const auto cache = environment_variable("XDG_CACHE_HOME")) return *cache + "/huggingface/token";
  return environment_variable("HOME").value_or("") + "/.cache/huggingface/token";
}

}  // namespace

RemoteSettings& remote_settings() {
  static RemoteSettings settings;
  return settings;
}

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return {};
  return value;
}

std::optional<u64> whole_number(std::string_view text) {
  u64 value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string hub_token() {
  if (is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN")) return {};
  std::string text;
  for (const char* name : {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"}) {
    if (text.empty()) text = trimmed(environment_variable(name).value_or(""));
  }
  if (text.empty()) {
    std::ifstream file(token_file());
    std::getline(file, text);
    text = trimmed(text);
  }
  const bool is_plain = text.find_first_not_of(token_characters) == std::string::npos;
  return is_plain && text.size() <= max_token ? text : std::string();
}

Status check_online() {
  for (const char* name : {"HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"}) {
    if (is_on(name)) return input_error("remote-offline", fmt::format("is an address, and {} is set", name));
  }
  return {};
}

u64 longest_silence() {
  constexpr u64 usual = 10;
  const auto seconds = remote_settings().timeout
                           ? remote_settings().timeout
                           : whole_number(environment_variable("HF_HUB_DOWNLOAD_TIMEOUT").value_or(""));
  return seconds ? std::clamp<u64>(*seconds, 1, most_silence) : usual;
}

}  // namespace modelutils

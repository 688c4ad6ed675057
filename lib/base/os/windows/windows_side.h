// Declarations shared by the Windows files.
#pragma once

#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
// windows.h comes first, because the others need it.
#include <windows.h>

#include <winioctl.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace modelutils::os {

/// Owns a handle and closes it.
class Handle {
 public:
  explicit Handle(HANDLE value) : value_(value) {}
  ~Handle() {
    if (is_open()) ::CloseHandle(value_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle(Handle&& other) noexcept : value_(other.release()) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  bool is_open() const { return value_ != INVALID_HANDLE_VALUE && value_ != nullptr; }
  HANDLE value() const { return value_; }
  HANDLE release() { return std::exchange(value_, INVALID_HANDLE_VALUE); }

 private:
  HANDLE value_;
};

/// Convert between UTF-8 and UTF-16. wide() returns nullopt for text that is not valid UTF-8.
std::optional<std::wstring> wide(std::string_view text);
std::string narrow(std::wstring_view text);

/// Returns the absolute path in the form without the limit of 260 characters ("\\?\C:\…"). Returns nullopt and sets
/// errno for paths that are not valid UTF-8, and for devices (NUL, COM1, CON, "\\.\…") and streams ("a.gguf:x"), which
/// are not files.
std::optional<std::wstring> native(const std::string& path);
/// Converts a native path to our form: without "\\?\", with '/'.
std::string from_wide(std::wstring_view path);

/// Sets errno from GetLastError().
void take_error();

}  // namespace modelutils::os

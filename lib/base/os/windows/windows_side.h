// What the parts of the Windows side share.
#pragma once

#ifndef NOMINMAX
#define NOMINMAX
#endif
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
// windows.h comes first: the others need it.
#include <windows.h>

#include <winioctl.h>

#include <optional>
#include <string>
#include <string_view>

namespace modelutils::os {

/// Converts between UTF-8 and UTF-16. wide() returns nullopt for text that is not valid UTF-8.
std::optional<std::wstring> wide(std::string_view text);
std::string narrow(std::wstring_view text);

/// Returns the absolute path in the form that has no limit of 260 characters ("\\?\C:\…"). Returns nullopt and sets
/// errno for paths that are not valid UTF-8, and for devices (NUL, COM1, CON, "\\.\…") and streams ("a.gguf:x"), which
/// would not be files.
std::optional<std::wstring> native(const std::string& path);
/// Returns a native path as ours: without "\\?\", with '/'.
std::string from_wide(std::wstring_view path);

/// Sets errno from GetLastError().
void take_error();

}  // namespace modelutils::os

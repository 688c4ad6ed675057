// Declarations shared by the POSIX files. linux/ and macos/ implement the rest.
#pragma once

#include <cerrno>
#include <optional>
#include <string>
#include <vector>

namespace modelutils::os {

/// Repeats a call that a signal interrupts.
template <typename Call>
auto repeated(Call call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

/// The open() flag for a folder that only serves as a base for opening other files.
int search_only();

// Extended attributes, whose calls differ between systems. Names are the system's.

/// Returns the text that get(buffer, size) writes, after calling it twice: for the size, then for the bytes. Returns
/// nullopt if a call fails.
template <typename Get>
std::optional<std::string> attribute_text(const Get& get) {
  const auto size = get(nullptr, 0);
  if (size < 0) return std::nullopt;
  std::string value(static_cast<std::size_t>(size), '\0');
  const auto got = get(value.data(), value.size());
  if (got < 0) return std::nullopt;
  value.resize(static_cast<std::size_t>(got));
  return value;
}

/// Returns nullopt and sets errno if there is no such attribute.
std::optional<std::string> attribute(const std::string& path, const char* name);
std::optional<std::string> attribute(int descriptor, const char* name);
bool set_attribute(int descriptor, const char* name, const std::string& value);
bool remove_attribute(int descriptor, const char* name);
/// Names of the attributes that belong to a file's content for its user, or are its security label.
std::optional<std::vector<std::string>> copied_attributes(const std::string& path);
/// True if errno means that the attribute does not exist or that the file system supports none.
bool attribute_is_missing(int reason);
/// Attributes that are access control lists. New files in a folder inherit its default list.
const std::vector<const char*>& access_lists();

}  // namespace modelutils::os

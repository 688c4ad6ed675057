#include <cerrno>

#include "base/os/files.h"
#include "base/os/sharing.h"
#include "base/os/windows/windows_side.h"

namespace modelutils::os {

namespace {

// Calls call(native path) and sets errno if it returns 0.
template <typename Call>
bool with_native(const std::string& path, const Call& call) {
  const auto name = native(path);
  if (!name) return false;
  if (call(name->c_str()) != 0) return true;
  take_error();
  return false;
}

bool move_file(const std::string& from, const std::string& to, DWORD flags) {
  const auto target = native(to);
  if (!target) return false;
  return with_native(
      from, [&](const wchar_t* name) { return ::MoveFileExW(name, target->c_str(), flags | MOVEFILE_WRITE_THROUGH); });
}

}  // namespace

bool remove_file(const char* path) {
  return with_native(path, [](const wchar_t* name) {
    if (::DeleteFileW(name) != 0) return 1;
    // A read-only file cannot be removed.
    const DWORD attributes = ::GetFileAttributesW(name);
    if (attributes == INVALID_FILE_ATTRIBUTES || (attributes & FILE_ATTRIBUTE_READONLY) == 0) return 0;
    ::SetFileAttributesW(name, attributes & ~DWORD{FILE_ATTRIBUTE_READONLY});
    return ::DeleteFileW(name);
  });
}

bool remove_folder(const char* path) {
  return with_native(path, [](const wchar_t* name) { return ::RemoveDirectoryW(name); });
}

bool make_folder(const std::string& path, unsigned) {
  return with_native(path, [](const wchar_t* name) { return ::CreateDirectoryW(name, nullptr); });
}

bool set_mode(const std::string&, unsigned) {
  return true;
}

bool rename(const std::string& from, const std::string& to) {
  return move_file(from, to, MOVEFILE_REPLACE_EXISTING);
}

bool rename_new(const std::string& from, const std::string& to) {
  return move_file(from, to, 0);
}

bool exchange(const std::string&, const std::string&) {
  errno = ENOSYS;
  return false;
}

bool rename_is_unsupported() {
  return errno == ENOSYS;
}

bool link(const std::string& existing, const std::string& name) {
  const auto target = native(existing);
  if (!target) return false;
  return with_native(name, [&](const wchar_t* wanted) { return ::CreateHardLinkW(wanted, target->c_str(), nullptr); });
}

bool symbolic_link(const std::string& target, const std::string& name) {
  const auto wanted = native(target);
  if (!wanted) return false;
  constexpr DWORD without_privilege = 2;  // SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE, for developer mode
  return with_native(
      name, [&](const wchar_t* link) { return ::CreateSymbolicLinkW(link, wanted->c_str(), without_privilege) != 0; });
}

bool clone(const std::string&, const std::string&) {
  errno = EOPNOTSUPP;
  return false;
}

std::optional<FreeSpace> free_space(const std::string& folder) {
  ULARGE_INTEGER bytes{};
  const bool is_known =
      with_native(folder, [&](const wchar_t* name) { return ::GetDiskFreeSpaceExW(name, &bytes, nullptr, nullptr); });
  if (!is_known) return std::nullopt;
  return FreeSpace{.blocks = bytes.QuadPart, .block = 1};
}

}  // namespace modelutils::os

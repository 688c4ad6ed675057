#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <vector>

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

// Renames as POSIX does: the replaced file may be open if whoever opened it shares its removal. Windows 10 supports
// this on NTFS. Returns false where it is impossible.
bool rename_as_posix(const std::wstring& from, const std::wstring& to) {
  struct Renaming {  // FILE_RENAME_INFO with flags, which older headers lack
    DWORD flags;
    HANDLE folder;
    DWORD bytes;
    wchar_t name[1];
  };
  constexpr auto renaming_with_flags = static_cast<FILE_INFO_BY_HANDLE_CLASS>(22);  // FileRenameInfoEx
  constexpr DWORD replaces = 1, is_as_posix = 2;
  const Handle file(::CreateFileW(
      from.c_str(), DELETE | SYNCHRONIZE, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, nullptr,
      OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT | FILE_FLAG_WRITE_THROUGH, nullptr));
  if (!file.is_open()) return false;
  const std::size_t bytes = to.size() * sizeof(wchar_t);
  std::vector<std::byte> info(sizeof(Renaming) + bytes);
  const Renaming head{replaces | is_as_posix, nullptr, static_cast<DWORD>(bytes), {}};
  std::memcpy(info.data(), &head, sizeof head);
  std::memcpy(info.data() + offsetof(Renaming, name), to.data(), bytes);
  return ::SetFileInformationByHandle(file.value(), renaming_with_flags, info.data(),
                                      static_cast<DWORD>(info.size())) != 0;
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
  const auto source = native(from), target = native(to);
  if (source && target && rename_as_posix(*source, *target)) return true;
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
  // Only absolute targets have the native form; a relative one begins at the link's folder.
  const std::string from_here = is_absolute(target) ? target : name.substr(0, name.rfind('/') + 1) + target;
  auto wanted = is_absolute(target) ? native(target) : wide(target);
  if (!wanted) return false;
  std::replace(wanted->begin(), wanted->end(), L'/', L'\\');
  DWORD flags = 2;  // SYMBOLIC_LINK_FLAG_ALLOW_UNPRIVILEGED_CREATE, for developer mode
  if (is_folder(from_here)) flags |= SYMBOLIC_LINK_FLAG_DIRECTORY;
  return with_native(name,
                     [&](const wchar_t* link) { return ::CreateSymbolicLinkW(link, wanted->c_str(), flags) != 0; });
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

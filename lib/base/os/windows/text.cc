#include <algorithm>
#include <cerrno>

#include "base/os/files.h"
#include "base/os/windows/windows_side.h"

namespace modelutils::os {

std::optional<std::wstring> wide(std::string_view text) {
  if (text.empty()) return std::wstring();
  const int size = static_cast<int>(text.size());
  const int length = ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), size, nullptr, 0);
  if (length <= 0) return std::nullopt;
  std::wstring out(static_cast<std::size_t>(length), L'\0');
  ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text.data(), size, out.data(), length);
  return out;
}

std::string narrow(std::wstring_view text) {
  if (text.empty()) return {};
  const int size = static_cast<int>(text.size());
  const int length = ::WideCharToMultiByte(CP_UTF8, 0, text.data(), size, nullptr, 0, nullptr, nullptr);
  std::string out(static_cast<std::size_t>(std::max(length, 0)), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text.data(), size, out.data(), length, nullptr, nullptr);
  return out;
}

namespace {

// True for "NUL", "com1.txt" and "aux " in any case: such names mean devices in every folder.
bool is_device(std::string_view name) {
  std::string base(name.substr(0, std::min(name.find('.'), name.size())));
  while (base.ends_with(' ')) base.pop_back();
  for (char& c : base) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  if (base == "CON" || base == "PRN" || base == "AUX" || base == "NUL" || base == "CONIN$" || base == "CONOUT$") {
    return true;
  }
  if (!base.starts_with("COM") && !base.starts_with("LPT")) return false;
  const std::string_view number = std::string_view(base).substr(3);
  return (number.size() == 1 && number[0] >= '0' && number[0] <= '9') || number == "\xC2\xB9" || number == "\xC2\xB2" ||
         number == "\xC2\xB3";
}

// True if is_wrong(part) for any of the parts between '/'.
template <typename Check>
bool any_part(std::string_view path, const Check& is_wrong) {
  while (!path.empty()) {
    const std::size_t end = std::min(path.find('/'), path.size());
    if (is_wrong(path.substr(0, end))) return true;
    path.remove_prefix(std::min(end + 1, path.size()));
  }
  return false;
}

// True for a stream ("a:b"), a drive, a device, and what no name has.
bool is_no_file_name(std::string_view part) {
  return part.find(':') != part.npos || part.find('\0') != part.npos || is_device(part);
}

// True if the path has a component that is not a file name, such as a device or a stream.
bool is_refused(std::string_view path) {
  if (path.starts_with("//./") || path.starts_with("//?/")) return true;
  // "C:a" is a name in the working folder of another drive.
  if (path.size() > 1 && path[1] == ':') {
    if (root_size(path) < 3) return true;
    path.remove_prefix(3);
  }
  return any_part(path, is_no_file_name);
}

}  // namespace

bool leads_elsewhere(std::string_view name) {
  return any_part(name, [](std::string_view part) {
    return part.find('\\') != part.npos || part.ends_with('.') || part.ends_with(' ') || is_no_file_name(part);
  });
}

std::optional<std::wstring> native(const std::string& path) {
  const std::string ours = from_native(path);
  errno = ours.empty() ? ENOENT : EINVAL;
  if (ours.empty() || is_refused(ours)) return std::nullopt;
  errno = EILSEQ;
  const auto text = wide(ours);
  if (!text) return std::nullopt;
  const DWORD size = ::GetFullPathNameW(text->c_str(), 0, nullptr, nullptr);
  std::wstring full(size, L'\0');
  full.resize(::GetFullPathNameW(text->c_str(), size, full.data(), nullptr));
  return full.starts_with(L"\\\\") ? L"\\\\?\\UNC\\" + full.substr(2) : L"\\\\?\\" + full;
}

std::string from_wide(std::wstring_view path) {
  std::string prefix;
  if (path.starts_with(L"\\\\?\\UNC\\")) {
    path.remove_prefix(8);
    prefix = "//";
  } else if (path.starts_with(L"\\\\?\\")) {
    path.remove_prefix(4);
  }
  return prefix + from_native(narrow(path));
}

void take_error() {
  switch (::GetLastError()) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_DRIVE:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME: errno = ENOENT; break;
    case ERROR_DIRECTORY: errno = ENOTDIR; break;
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS: errno = EEXIST; break;
    case ERROR_DIR_NOT_EMPTY: errno = ENOTEMPTY; break;
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION: errno = EBUSY; break;
    case ERROR_ACCESS_DENIED:
    case ERROR_WRITE_PROTECT:
    case ERROR_DELETE_PENDING: errno = EACCES; break;
    case ERROR_PRIVILEGE_NOT_HELD: errno = EPERM; break;
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL: errno = ENOSPC; break;
    case ERROR_FILE_TOO_LARGE: errno = EFBIG; break;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA:
    case ERROR_PIPE_NOT_CONNECTED: errno = EPIPE; break;
    case ERROR_INVALID_HANDLE: errno = EBADF; break;
    case ERROR_TOO_MANY_OPEN_FILES: errno = EMFILE; break;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY: errno = ENOMEM; break;
    case ERROR_NOT_SAME_DEVICE: errno = EXDEV; break;
    case ERROR_TOO_MANY_LINKS: errno = EMLINK; break;
    case ERROR_FILENAME_EXCED_RANGE: errno = ENAMETOOLONG; break;
    case ERROR_INVALID_FUNCTION:
    case ERROR_CALL_NOT_IMPLEMENTED:
    case ERROR_NOT_SUPPORTED: errno = ENOSYS; break;
    case ERROR_CANT_RESOLVE_FILENAME: errno = ELOOP; break;
    case ERROR_INVALID_PARAMETER: errno = EINVAL; break;
    default: errno = EIO; break;
  }
}

}  // namespace modelutils::os

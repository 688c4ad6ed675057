#include "base/os/files.h"

#include <fcntl.h>
#include <io.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/os/sharing.h"
#include "base/os/windows/windows_side.h"

namespace modelutils::os {

namespace {

constexpr DWORD shared_by_all = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

// Opens existing files and folders. Sets errno on failure.
HANDLE open_handle(const std::string& path, DWORD access, DWORD flags = 0) {
  const auto name = native(path);
  if (!name) return INVALID_HANDLE_VALUE;
  const HANDLE handle = ::CreateFileW(name->c_str(), access, shared_by_all, nullptr, OPEN_EXISTING,
                                      FILE_FLAG_BACKUP_SEMANTICS | flags, nullptr);
  if (handle == INVALID_HANDLE_VALUE) take_error();
  return handle;
}

HANDLE handle_of(int descriptor) {
  if (descriptor < 0) return INVALID_HANDLE_VALUE;
  const auto handle = reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor));
  if (handle != INVALID_HANDLE_VALUE && handle != reinterpret_cast<HANDLE>(-2)) return handle;
  errno = EBADF;
  return INVALID_HANDLE_VALUE;
}

bool is_link_tag(DWORD tag) {
  return tag == IO_REPARSE_TAG_SYMLINK || tag == IO_REPARSE_TAG_MOUNT_POINT;
}

i64 nanoseconds(const FILETIME& time) {
  constexpr i64 from_1601 = 11'644'473'600;
  const u64 ticks = u64{time.dwHighDateTime} << 32 | time.dwLowDateTime;
  return (static_cast<i64>(ticks) - from_1601 * 10'000'000) * 100;
}

std::optional<FileStatus> status_of(HANDLE handle, bool of_link) {
  BY_HANDLE_FILE_INFORMATION info{};
  if (::GetFileInformationByHandle(handle, &info) == 0) {
    take_error();
    return std::nullopt;
  }
  FileStatus status;
  const bool is_folder = (info.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0;
  status.kind = is_folder ? EntryKind::directory : EntryKind::file;
  FILE_ATTRIBUTE_TAG_INFO tag{};
  if (of_link && (info.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 &&
      ::GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof tag) != 0 &&
      is_link_tag(tag.ReparseTag)) {
    status.kind = EntryKind::link;
  }
  status.device = info.dwVolumeSerialNumber;
  status.inode = u64{info.nFileIndexHigh} << 32 | info.nFileIndexLow;
  status.size = is_folder ? 0 : u64{info.nFileSizeHigh} << 32 | info.nFileSizeLow;
  status.disk_bytes = status.size;
  status.modified = nanoseconds(info.ftLastWriteTime);
  status.links = info.nNumberOfLinks;
  const bool is_read_only = !is_folder && (info.dwFileAttributes & FILE_ATTRIBUTE_READONLY) != 0;
  status.mode = is_folder ? 0700 : is_read_only ? 0444 : 0666;
  return status;
}

}  // namespace

std::optional<FileStatus> status(const std::string& path) {
  const Handle handle(open_handle(path, FILE_READ_ATTRIBUTES));
  return handle.is_open() ? status_of(handle.value(), false) : std::nullopt;
}

std::optional<i64> access_time(const std::string& path) {
  const Handle handle(open_handle(path, FILE_READ_ATTRIBUTES));
  BY_HANDLE_FILE_INFORMATION info{};
  if (!handle.is_open()) return std::nullopt;
  if (::GetFileInformationByHandle(handle.value(), &info) == 0) {
    take_error();
    return std::nullopt;
  }
  return nanoseconds(info.ftLastAccessTime);
}

std::optional<FileStatus> status(int descriptor) {
  const HANDLE handle = handle_of(descriptor);
  if (handle == INVALID_HANDLE_VALUE) return std::nullopt;
  switch (::GetFileType(handle)) {
    case FILE_TYPE_DISK: {
      // wine reports no more than this about a standard stream that Linux redirected, so read and write it
      // sequentially.
      const auto there = status_of(handle, false);
      return there || descriptor > standard_error ? there : FileStatus{};
    }
    case FILE_TYPE_CHAR:
    case FILE_TYPE_PIPE: return FileStatus{};
    default: errno = EBADF; return std::nullopt;
  }
}

std::optional<FileStatus> link_status(const std::string& path) {
  const Handle handle(open_handle(path, FILE_READ_ATTRIBUTES, FILE_FLAG_OPEN_REPARSE_POINT));
  return handle.is_open() ? status_of(handle.value(), true) : std::nullopt;
}

bool is_folder(const std::string& path) {
  const auto there = status(path);
  return there && there->is_folder();
}

bool may_enter(const std::string& folder) {
  return Handle(open_handle(folder, FILE_LIST_DIRECTORY)).is_open();
}

std::optional<bool> is_mount_root(const std::string&) {
  return {};
}

std::size_t root_size(std::string_view path) {
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  if (path.size() > 2 && is_letter(path[0]) && path[1] == ':' && path[2] == '/') return 3;
  if (!path.starts_with('/')) return 0;
  if (!path.starts_with("//") || path.size() < 3 || path[2] == '/') return 1;
  const std::size_t share = path.find('/', 2);  // "//server/share/"
  if (share == path.npos) return path.size();
  const std::size_t end = path.find('/', share + 1);
  return end == path.npos ? path.size() : end + 1;
}

std::string from_native(std::string path) {
  std::replace(path.begin(), path.end(), '\\', '/');
  return path;
}

std::optional<std::string> resolve(const std::string& path) {
  const Handle handle(open_handle(path, FILE_READ_ATTRIBUTES));
  if (!handle.is_open()) return std::nullopt;
  std::wstring name(::GetFinalPathNameByHandleW(handle.value(), nullptr, 0, FILE_NAME_NORMALIZED), L'\0');
  const DWORD size =
      ::GetFinalPathNameByHandleW(handle.value(), name.data(), static_cast<DWORD>(name.size()), FILE_NAME_NORMALIZED);
  if (size == 0 || size > name.size()) {
    take_error();
    return std::nullopt;
  }
  return from_wide(std::wstring_view(name).substr(0, size));
}

std::optional<std::string> read_link(const std::string& path) {
  // REPARSE_DATA_BUFFER, which only the driver kit declares.
  struct Reparse {
    DWORD tag;
    WORD size, reserved;
    WORD substitute_at, substitute_size, print_at, print_size;
  };
  const Handle handle(open_handle(path, 0, FILE_FLAG_OPEN_REPARSE_POINT));
  if (!handle.is_open()) return std::nullopt;
  alignas(8) static thread_local char buffer[MAXIMUM_REPARSE_DATA_BUFFER_SIZE];
  DWORD got = 0;
  Reparse head{};
  const bool has_data =
      ::DeviceIoControl(handle.value(), FSCTL_GET_REPARSE_POINT, nullptr, 0, buffer, sizeof buffer, &got, nullptr) != 0;
  if (has_data && got >= sizeof head) std::memcpy(&head, buffer, sizeof head);
  const std::size_t names = sizeof head + (head.tag == IO_REPARSE_TAG_SYMLINK ? sizeof(DWORD) : 0);
  const std::size_t begin = names + head.substitute_at;
  if (!is_link_tag(head.tag) || begin > got || head.substitute_size > got - begin) {
    errno = EINVAL;
    return std::nullopt;
  }
  std::wstring name(head.substitute_size / sizeof(wchar_t), L'\0');
  std::memcpy(name.data(), buffer + begin, name.size() * sizeof(wchar_t));
  if (name.starts_with(L"\\??\\")) name.replace(0, 4, L"\\\\?\\");
  return from_wide(name);
}

std::optional<std::string> working_folder() {
  std::wstring name(::GetCurrentDirectoryW(0, nullptr), L'\0');
  name.resize(::GetCurrentDirectoryW(static_cast<DWORD>(name.size()), name.data()));
  if (name.empty()) return std::nullopt;
  return from_wide(name);
}

bool list(const std::string& folder, const std::function<bool(std::string_view name, EntryKind kind)>& visit) {
  const auto there = status(folder);
  if (!there) return false;
  if (!there->is_folder()) {
    errno = ENOTDIR;
    return false;
  }
  const auto name = native(folder);
  if (!name) return false;
  WIN32_FIND_DATAW entry{};
  const HANDLE search = ::FindFirstFileExW((*name + (name->ends_with(L'\\') ? L"*" : L"\\*")).c_str(), FindExInfoBasic,
                                           &entry, FindExSearchNameMatch, nullptr, 0);
  if (search == INVALID_HANDLE_VALUE) {
    if (::GetLastError() == ERROR_FILE_NOT_FOUND) return true;
    take_error();
    return false;
  }
  bool goes_on = true;
  do {
    const std::string text = narrow(entry.cFileName);
    if (text == "." || text == "..") continue;
    EntryKind kind = (entry.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY) != 0 ? EntryKind::directory : EntryKind::file;
    if ((entry.dwFileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 && is_link_tag(entry.dwReserved0)) {
      kind = EntryKind::link;
    }
    goes_on = visit(text, kind);
  } while (goes_on && ::FindNextFileW(search, &entry) != 0);
  const bool is_whole = !goes_on || ::GetLastError() == ERROR_NO_MORE_FILES;
  if (!is_whole) take_error();
  const int reason = errno;
  ::FindClose(search);
  errno = reason;
  return is_whole;
}

namespace {

int descriptor_of(Handle& handle, unsigned flags) {
  if (!handle.is_open()) return -1;
  const int descriptor = ::_open_osfhandle(reinterpret_cast<intptr_t>(handle.value()),
                                           _O_BINARY | ((flags & 3) == reading ? _O_RDONLY : _O_RDWR));
  if (descriptor >= 0) handle.release();
  return descriptor;
}

}  // namespace

void keep_access_times() {}

int open(const std::string& path, unsigned flags) {
  constexpr DWORD accesses[] = {GENERIC_READ, GENERIC_WRITE, GENERIC_READ | GENERIC_WRITE,
                                GENERIC_READ | GENERIC_WRITE};
  Handle handle(open_handle(path, accesses[flags & 3], (flags & no_link) != 0 ? FILE_FLAG_OPEN_REPARSE_POINT : 0));
  if (!handle.is_open()) return -1;
  if ((flags & (no_link | a_folder)) != 0) {
    const auto there = status_of(handle.value(), (flags & no_link) != 0);
    if (!there) return -1;
    errno = there->is_link() ? ELOOP : ENOTDIR;
    if (there->is_link() || ((flags & a_folder) != 0 && !there->is_folder())) return -1;
  }
  return descriptor_of(handle, flags);
}

int create(const std::string& path, unsigned) {
  const auto name = native(path);
  if (!name) return -1;
  Handle handle(::CreateFileW(name->c_str(), GENERIC_READ | GENERIC_WRITE, shared_by_all, nullptr, CREATE_NEW,
                              FILE_ATTRIBUTE_NORMAL, nullptr));
  if (!handle.is_open()) take_error();
  return descriptor_of(handle, reading_and_writing);
}

int open_without_links(const std::string& folder, std::string_view name, bool& last) {
  last = false;
  errno = EINVAL;
  if (leads_elsewhere(name)) return -1;
  std::string path = folder;
  while (true) {
    name.remove_prefix(std::min(name.find_first_not_of('/'), name.size()));
    const std::size_t end = std::min(name.find('/'), name.size());
    if (!path.empty() && !path.ends_with('/')) path += '/';
    path.append(name.substr(0, end));
    name.remove_prefix(end);
    last = name.find_first_not_of('/') == name.npos;
    if (last) return open(path, reading | no_link);
    const auto there = link_status(path);
    if (!there) return -1;
    errno = there->is_link() ? ELOOP : ENOTDIR;
    if (!there->is_folder()) return -1;
  }
}

void close(int descriptor) {
  ::_close(descriptor);
}

namespace {

constexpr std::size_t most_bytes = std::size_t{1} << 30;

OVERLAPPED place_of(u64 offset) {
  OVERLAPPED place{};
  place.Offset = static_cast<DWORD>(offset);
  place.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return place;
}

i64 read_from(int descriptor, void* out, std::size_t size, OVERLAPPED* place) {
  const HANDLE handle = handle_of(descriptor);
  if (handle == INVALID_HANDLE_VALUE) return -1;
  DWORD got = 0;
  if (::ReadFile(handle, out, static_cast<DWORD>(std::min(size, most_bytes)), &got, place) != 0) return got;
  const DWORD reason = ::GetLastError();
  if (reason == ERROR_HANDLE_EOF || reason == ERROR_BROKEN_PIPE) return 0;
  if (reason == ERROR_INVALID_FUNCTION) {
    errno = EISDIR;
  } else {
    take_error();
  }
  return -1;
}

i64 write_to(int descriptor, const void* data, std::size_t size, OVERLAPPED* place) {
  const HANDLE handle = handle_of(descriptor);
  if (handle == INVALID_HANDLE_VALUE) return -1;
  DWORD done = 0;
  if (::WriteFile(handle, data, static_cast<DWORD>(std::min(size, most_bytes)), &done, place) != 0) return done;
  take_error();
  return -1;
}

}  // namespace

i64 read(int descriptor, void* out, std::size_t size) {
  return read_from(descriptor, out, size, nullptr);
}

i64 read_at(int descriptor, void* out, std::size_t size, u64 offset) {
  OVERLAPPED place = place_of(offset);
  return read_from(descriptor, out, size, &place);
}

i64 write(int descriptor, const void* data, std::size_t size) {
  return write_to(descriptor, data, size, nullptr);
}

i64 write_at(int descriptor, const void* data, std::size_t size, u64 offset) {
  OVERLAPPED place = place_of(offset);
  return write_to(descriptor, data, size, &place);
}

std::optional<u64> position(int descriptor) {
  const HANDLE handle = handle_of(descriptor);
  LARGE_INTEGER at{};
  if (handle == INVALID_HANDLE_VALUE || ::GetFileType(handle) != FILE_TYPE_DISK ||
      ::SetFilePointerEx(handle, LARGE_INTEGER{}, &at, FILE_CURRENT) == 0) {
    errno = ESPIPE;
    return std::nullopt;
  }
  return static_cast<u64>(at.QuadPart);
}

bool set_size(int descriptor, u64 size) {
  FILE_END_OF_FILE_INFO end{};
  end.EndOfFile.QuadPart = static_cast<LONGLONG>(size);
  if (::SetFileInformationByHandle(handle_of(descriptor), FileEndOfFileInfo, &end, sizeof end) != 0) return true;
  take_error();
  return false;
}

i64 copy_range(int, u64, int, u64, u64) {
  return 0;
}

bool has_shared_blocks(const std::string&) {
  return false;
}

const std::byte* map(int descriptor, std::size_t) {
  // The view keeps the mapping alive after its handle is closed.
  const Handle mapping(::CreateFileMappingW(handle_of(descriptor), nullptr, PAGE_READONLY, 0, 0, nullptr));
  const void* data = mapping.is_open() ? ::MapViewOfFile(mapping.value(), FILE_MAP_READ, 0, 0, 0) : nullptr;
  if (data == nullptr) take_error();
  return static_cast<const std::byte*>(data);
}

void unmap(const std::byte* data, std::size_t) {
  ::UnmapViewOfFile(data);
}

void prefer_large_pages(void*, std::size_t) {}

bool sync(int descriptor) {
  if (::FlushFileBuffers(handle_of(descriptor)) != 0) return true;
  take_error();
  return false;
}

bool sync_folder(const std::string&) {
  return true;
}

void start_write_back(int, u64, u64) {}

int end_write_back(int, u64, u64) {
  return 0;
}

void drop_from_cache(int, u64, u64) {}

int take_lease(int) {
  return ENOSYS;
}

namespace {
constexpr u64 place_of_lock = u64{1} << 62;  // beyond any possible end of a file: a lock here blocks no reader
}

EditLock lock_for_edit(int descriptor) {
  OVERLAPPED place = place_of(place_of_lock);
  constexpr DWORD flags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
  if (::LockFileEx(handle_of(descriptor), flags, 0, 1, 0, &place) != 0) return EditLock::taken;
  const DWORD reason = ::GetLastError();
  return reason == ERROR_LOCK_VIOLATION || reason == ERROR_IO_PENDING ? EditLock::held : EditLock::unknown;
}

bool is_edit_locked(int descriptor) {
  const EditLock lock = lock_for_edit(descriptor);
  if (lock != EditLock::taken) return lock == EditLock::held;
  OVERLAPPED place = place_of(place_of_lock);
  ::UnlockFileEx(handle_of(descriptor), 0, 1, 0, &place);
  return false;
}

LostAccess copy_access(const std::string&, int) {
  return {};
}

}  // namespace modelutils::os

#include "base/os/programs.h"

// winsock2.h must precede windows.h, which would declare the older sockets.
#include <winsock2.h>
#include <ws2tcpip.h>

#include <algorithm>
#include <cerrno>

#include "base/os/files.h"
#include "base/os/process.h"
#include "base/os/windows/windows_side.h"

namespace modelutils::os {

bool is_installed(const std::string&) {
  return false;
}

bool begin_pager(const std::string&) {
  return false;
}

void end_pager() {}

namespace {

// Returns the program's path. Unlike Windows's own search, this one ignores the working folder.
std::optional<std::wstring> find_program(const std::string& program) {
  const auto is_there = [](const std::string& path) { return status(path).value_or(FileStatus{}).is_file(); };
  if (program.find('/') != program.npos) {
    if (!is_there(program)) return std::nullopt;
    return wide(program);
  }
  const std::string all = environment("PATH").value_or("");
  for (std::string_view folders = all; !folders.empty();) {
    const std::size_t end = std::min(folders.find(';'), folders.size());
    std::string folder = from_native(std::string(folders.substr(0, end)));
    folders.remove_prefix(std::min(end + 1, folders.size()));
    std::erase(folder, '"');
    if (!is_absolute(folder)) continue;
    if (std::string path = folder + "/" + program + ".exe"; is_there(path)) return wide(path);
  }
  return std::nullopt;
}

// Quotes one word of a command line so that the C library splits it as intended.
std::wstring quoted_word(const std::wstring& word) {
  if (!word.empty() && word.find_first_of(L" \t\"") == word.npos) return word;
  std::wstring text = L"\"";
  std::size_t slashes = 0;
  for (const wchar_t c : word) {
    if (c == L'"') text.append(slashes + 1, L'\\');
    slashes = c == L'\\' ? slashes + 1 : 0;
    text += c;
  }
  return text.append(slashes, L'\\') + L'"';
}

std::optional<std::wstring> command_line(const std::vector<std::string>& words) {
  std::wstring line;
  for (const std::string& word : words) {
    const auto text = wide(word);
    if (!text) return std::nullopt;
    line += (line.empty() ? L"" : L" ") + quoted_word(*text);
  }
  return line;
}

// Returns an unpredictable name for a pipe.
std::wstring pipe_name() {
  u8 bytes[16];
  std::wstring name = L"\\\\.\\pipe\\modelutils-";
  if (!random_bytes(bytes, sizeof bytes)) return {};
  for (const u8 byte : bytes) {
    name += L"0123456789abcdef"[byte >> 4];
    name += L"0123456789abcdef"[byte & 15];
  }
  return name;
}

/// The list of inheritable handles. Handles outside it are not inherited, even if other threads create some meanwhile.
class Inherited {
 public:
  explicit Inherited(std::vector<HANDLE> handles) : handles_(std::move(handles)) {
    SIZE_T size = 0;
    ::InitializeProcThreadAttributeList(nullptr, 1, 0, &size);
    memory_.resize(size);
    list_ = reinterpret_cast<LPPROC_THREAD_ATTRIBUTE_LIST>(memory_.data());
    is_made_ = ::InitializeProcThreadAttributeList(list_, 1, 0, &size) != 0;
    is_good_ = is_made_ && ::UpdateProcThreadAttribute(list_, 0, PROC_THREAD_ATTRIBUTE_HANDLE_LIST, handles_.data(),
                                                       handles_.size() * sizeof(HANDLE), nullptr, nullptr) != 0;
  }
  ~Inherited() {
    if (is_made_) ::DeleteProcThreadAttributeList(list_);
  }
  Inherited(const Inherited&) = delete;
  Inherited& operator=(const Inherited&) = delete;

  bool is_good() const { return is_good_; }
  LPPROC_THREAD_ATTRIBUTE_LIST list() const { return list_; }

 private:
  std::vector<HANDLE> handles_;
  std::vector<std::byte> memory_;
  LPPROC_THREAD_ATTRIBUTE_LIST list_ = nullptr;
  bool is_made_ = false;
  bool is_good_ = false;
};

constexpr DWORD bytes_of_pipe = 64 << 10;

}  // namespace

// The program writes to a named pipe, because only these can be read with a time limit. While is_reading, a read into
// `bytes` is in progress.
struct Partner::Talk {
  HANDLE process = nullptr;
  HANDLE input = nullptr;  // our end of its standard input
  HANDLE output = nullptr;
  OVERLAPPED read = {};
  bool is_reading = false;
  std::array<char, bytes_of_pipe> bytes;
  std::size_t begin = 0, end = 0;  // bytes read into `bytes` and not yet received

  void close() {
    if (is_reading) {
      DWORD got = 0;
      ::CancelIoEx(output, &read);
      ::GetOverlappedResult(output, &read, &got, TRUE);
      is_reading = false;
    }
    for (HANDLE* handle : {&input, &output, &read.hEvent}) {
      if (*handle != nullptr) ::CloseHandle(*handle);
      *handle = nullptr;
    }
    begin = end = 0;
  }
};

Partner::Partner() : talk_(std::make_unique<Talk>()) {}

Partner::~Partner() {
  talk_->close();
  (void)status();
}

int Partner::start(const Command& command) {
  kill();
  const auto program = find_program(command.program);
  auto line = command_line(command.words);
  if (!program) return ENOENT;
  if (!line) return EILSEQ;
  const std::wstring name = pipe_name();
  SECURITY_ATTRIBUTES inherited{sizeof inherited, nullptr, TRUE};
  const DWORD ahead = command.buffer > 0 ? static_cast<DWORD>(command.buffer) : bytes_of_pipe;
  const auto opened = [](HANDLE handle) { return Handle(handle == INVALID_HANDLE_VALUE ? nullptr : handle); };
  Handle output = opened(::CreateNamedPipeW(
      name.c_str(), PIPE_ACCESS_INBOUND | FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
      PIPE_TYPE_BYTE | PIPE_READMODE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS, 1, 0, ahead, 0, nullptr));
  const Handle its_output =
      opened(::CreateFileW(name.c_str(), GENERIC_WRITE, 0, &inherited, OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr));
  HANDLE ends[2] = {};
  if (::CreatePipe(&ends[0], &ends[1], &inherited, bytes_of_pipe) == 0) ends[0] = ends[1] = nullptr;
  const Handle its_input(ends[0]);
  Handle input(ends[1]);
  const Handle nothing = opened(::CreateFileW(L"NUL", GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited,
                                              OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr));
  Handle event(::CreateEventW(nullptr, TRUE, FALSE, nullptr));
  // A handle can only be inherited if it is marked; standard error on a console need not be.
  Handle errors(nullptr);
  if (!command.is_quiet) {
    HANDLE copy = nullptr;
    ::DuplicateHandle(::GetCurrentProcess(), ::GetStdHandle(STD_ERROR_HANDLE), ::GetCurrentProcess(), &copy, 0, TRUE,
                      DUPLICATE_SAME_ACCESS);
    errors = Handle(copy);
  }
  if (!output.is_open() || !its_output.is_open() || !its_input.is_open() || !nothing.is_open() || !event.is_open()) {
    return EMFILE;
  }
  STARTUPINFOEXW start{};
  start.StartupInfo.cb = sizeof start;
  start.StartupInfo.dwFlags = STARTF_USESTDHANDLES;
  start.StartupInfo.hStdInput = its_input.value();
  start.StartupInfo.hStdOutput = its_output.value();
  start.StartupInfo.hStdError = errors.is_open() ? errors.value() : nothing.value();
  ::SetHandleInformation(input.value(), HANDLE_FLAG_INHERIT, 0);
  const Inherited handles({its_input.value(), its_output.value(), start.StartupInfo.hStdError});
  if (!handles.is_good()) return ENOMEM;
  start.lpAttributeList = handles.list();
  PROCESS_INFORMATION process{};
  if (::CreateProcessW(program->c_str(), line->data(), nullptr, nullptr, TRUE, EXTENDED_STARTUPINFO_PRESENT, nullptr,
                       nullptr, &start.StartupInfo, &process) == 0) {
    take_error();
    return errno;
  }
  ::CloseHandle(process.hThread);
  talk_->process = process.hProcess;
  talk_->input = input.release();
  talk_->output = output.release();
  talk_->read = OVERLAPPED{};
  talk_->read.hEvent = event.release();
  return 0;
}

bool Partner::send(std::string_view text) {
  while (!text.empty()) {
    DWORD sent = 0;
    const DWORD size = static_cast<DWORD>(std::min<std::size_t>(text.size(), bytes_of_pipe));
    if (::WriteFile(talk_->input, text.data(), size, &sent, nullptr) == 0 || sent == 0) return false;
    text.remove_prefix(sent);
  }
  return true;
}

void Partner::end_input() {
  if (talk_->input != nullptr) ::CloseHandle(talk_->input);
  talk_->input = nullptr;
}

bool Partner::receive(void* out, std::size_t size) {
  auto* to = static_cast<char*>(out);
  while (size > 0) {
    const auto got = receive_some(to, size, -1);
    if (got.value_or(0) == 0) return false;
    to += *got;
    size -= *got;
  }
  return true;
}

std::optional<std::size_t> Partner::receive_some(void* out, std::size_t size, int milliseconds) {
  Talk& talk = *talk_;
  if (talk.begin == talk.end) {
    DWORD got = 0;
    bool is_read = false;
    if (!talk.is_reading) {
      is_read = ::ReadFile(talk.output, talk.bytes.data(), bytes_of_pipe, &got, &talk.read) != 0;
      talk.is_reading = !is_read && ::GetLastError() == ERROR_IO_PENDING;
      if (!is_read && !talk.is_reading) return 0;
    }
    if (!is_read) {
      const DWORD limit = milliseconds < 0 ? INFINITE : static_cast<DWORD>(milliseconds);
      if (::WaitForSingleObject(talk.read.hEvent, limit) == WAIT_TIMEOUT) return std::nullopt;
      talk.is_reading = false;
      if (::GetOverlappedResult(talk.output, &talk.read, &got, TRUE) == 0) return 0;
    }
    talk.begin = 0;
    talk.end = got;
  }
  const std::size_t taken = std::min(size, talk.end - talk.begin);
  std::copy_n(talk.bytes.data() + talk.begin, taken, static_cast<char*>(out));
  talk.begin += taken;
  return taken;
}

namespace {
constexpr UINT status_of_killed = 0x6B696C6C;
}

std::optional<int> Partner::status() {
  if (talk_->process == nullptr) return std::nullopt;
  DWORD status = 0;
  ::WaitForSingleObject(talk_->process, INFINITE);
  ::GetExitCodeProcess(talk_->process, &status);
  ::CloseHandle(talk_->process);
  talk_->process = nullptr;
  if (status == status_of_killed) return std::nullopt;
  return static_cast<int>(status);
}

void Partner::kill() {
  if (talk_->process != nullptr) ::TerminateProcess(talk_->process, status_of_killed);
  (void)status();
  talk_->close();
}

bool is_abandoned(int milliseconds) {
  constexpr int step = 50;
  for (int left = milliseconds;; left -= step) {
    if (::PeekNamedPipe(::GetStdHandle(STD_INPUT_HANDLE), nullptr, 0, nullptr, nullptr, nullptr) == 0) return true;
    if (left <= 0) return false;
    ::Sleep(static_cast<DWORD>(std::min(left, step)));
  }
}

namespace {

bool has_network() {
  static const bool is_ready = [] {
    WSADATA data;
    return ::WSAStartup(MAKEWORD(2, 2), &data) == 0;
  }();
  return is_ready;
}

}  // namespace

std::optional<std::array<u8, 16>> address_bytes(const std::string& text) {
  std::array<u8, 16> bytes{};
  if (!has_network()) return std::nullopt;
  if (::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1) return bytes;
  bytes = {};  // a failed call may have written some bytes
  bytes[10] = bytes[11] = 0xFF;
  if (::inet_pton(AF_INET, text.c_str(), &bytes[12]) == 1) return bytes;
  return std::nullopt;
}

std::optional<std::string> address_text(const void*, std::size_t) {
  return std::nullopt;
}

int open_socket(int, int, int) {
  return -1;
}

bool resolves_hosts() {
  return true;
}

std::vector<std::string> host_addresses(const std::string& host) {
  std::vector<std::string> addresses;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (!has_network() || ::getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    char text[NI_MAXHOST];
    if (::getnameinfo(each->ai_addr, static_cast<socklen_t>(each->ai_addrlen), text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      addresses.push_back(text);
    }
  }
  ::freeaddrinfo(found);
  return addresses;
}

}  // namespace modelutils::os

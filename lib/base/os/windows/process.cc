#include "base/os/process.h"

#include <fcntl.h>
#include <io.h>
#include <stdlib.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <system_error>

#include "base/os/files.h"
#include "base/os/thread.h"
#include "base/os/windows/windows_side.h"

// The C library must not expand wildcards, because it cannot distinguish file names from the patterns of options.
extern "C" int _CRT_glob = 0;

namespace modelutils::os {

void prepare_process() {
  for (const int descriptor : {standard_input, standard_output, standard_error}) {
    if (::_get_osfhandle(descriptor) >= 0) ::_setmode(descriptor, _O_BINARY);
  }
  ::SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
  for (const DWORD which : {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE}) {
    const HANDLE console = ::GetStdHandle(which);
    DWORD mode = 0;
    if (::GetConsoleMode(console, &mode) == 0) continue;
    ::SetConsoleOutputCP(CP_UTF8);
    ::SetConsoleMode(console, mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
}

namespace {

// Splits a command line as the C library does: blanks separate; quotes join; backslashes are literal unless a quote
// follows. Before a quote, two backslashes stand for one, and a remaining single one makes the quote literal.
std::vector<std::wstring> split(std::wstring_view line) {
  std::vector<std::wstring> words;
  std::size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < line.size() && (line[at] == L' ' || line[at] == L'\t')) ++at;
  };
  for (skip_blanks(); at < line.size(); skip_blanks()) {
    std::wstring word;
    bool is_quoted = false;
    for (; at < line.size() && (is_quoted || (line[at] != L' ' && line[at] != L'\t')); ++at) {
      std::size_t slashes = 0;
      while (!words.empty() && at < line.size() && line[at] == L'\\') {  // not in the program's name
        ++slashes;
        ++at;
      }
      const bool is_quote = at < line.size() && line[at] == L'"';
      word.append(is_quote ? slashes / 2 : slashes, L'\\');
      if (is_quote && slashes % 2 == 0) {
        // Two quotes within quotes stand for one.
        if (is_quoted && at + 1 < line.size() && line[at + 1] == L'"') {
          word += line[at++];
        } else {
          is_quoted = !is_quoted;
        }
      } else if (at < line.size() && (is_quoted || (line[at] != L' ' && line[at] != L'\t'))) {
        word += line[at];
      } else {
        break;
      }
    }
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace

void take_arguments(int& argc, char**& argv) {
  static std::vector<std::string> words;
  static std::vector<char*> pointers;
  words.clear();
  pointers.clear();
  for (const std::wstring& word : split(::GetCommandLineW())) words.push_back(narrow(word));
  if (words.empty()) return;
  std::string& name = words.front();
  name = from_native(name);
  // Users may write names of files in any case.
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  std::transform(name.begin() + static_cast<std::ptrdiff_t>(name.rfind('/') + 1), name.end(),
                 name.begin() + static_cast<std::ptrdiff_t>(name.rfind('/') + 1), lower);
  if (name.ends_with(".exe")) name.resize(name.size() - std::string_view(".exe").size());
  for (std::string& word : words) pointers.push_back(word.data());
  argc = static_cast<int>(words.size());
  pointers.push_back(nullptr);
  argv = pointers.data();
}

std::vector<std::string> expand_wildcards(const std::string& argument) {
  const std::string path = from_native(argument);
  const std::size_t name = path.rfind('/') + 1;
  if (path.find_first_of("*?", name) == path.npos) return {argument};
  const std::string folder = path.substr(0, name);
  const auto place = native(folder.empty() ? "." : folder);
  const auto pattern = wide(std::string_view(path).substr(name));
  if (!place || !pattern) return {argument};
  std::vector<std::string> found;
  WIN32_FIND_DATAW entry{};
  const HANDLE search = ::FindFirstFileW((*place + (place->ends_with(L'\\') ? L"" : L"\\") + *pattern).c_str(), &entry);
  if (search == INVALID_HANDLE_VALUE) return {argument};
  do {
    const std::string text = narrow(entry.cFileName);
    if (text != "." && text != "..") found.push_back(folder + text);
  } while (::FindNextFileW(search, &entry) != 0);
  ::FindClose(search);
  std::sort(found.begin(), found.end());
  return found.empty() ? std::vector<std::string>{argument} : found;
}

u64 process_id() {
  return ::GetCurrentProcessId();
}

unsigned user_id() {
  return 0;
}

bool is_running(u64 process) {
  const HANDLE handle = ::OpenProcess(SYNCHRONIZE, FALSE, static_cast<DWORD>(process));
  if (handle == nullptr) return ::GetLastError() == ERROR_ACCESS_DENIED;
  const bool is_over = ::WaitForSingleObject(handle, 0) == WAIT_OBJECT_0;
  ::CloseHandle(handle);
  return !is_over;
}

std::string host_name() {
  wchar_t name[MAX_COMPUTERNAME_LENGTH + 1] = {};
  DWORD size = MAX_COMPUTERNAME_LENGTH + 1;
  return ::GetComputerNameW(name, &size) != 0 ? narrow(std::wstring_view(name, size)) : std::string();
}

std::string machine_identity() {
  return host_name();
}

// Windows has no exact identity of a boot, and process numbers are only compared with running processes.
std::string boot_identity() {
  return {};
}

const char* program_name() {
  return "modelutils";
}

namespace {

std::string file_of(HMODULE module) {
  std::wstring name(32768, L'\0');
  name.resize(::GetModuleFileNameW(module, name.data(), static_cast<DWORD>(name.size())));
  return from_wide(name);
}

}  // namespace

std::string own_program() {
  return file_of(nullptr);
}

std::string own_library() {
  HMODULE module = nullptr;
  constexpr DWORD flags = GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS | GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT;
  static const char inside = 0;
  return ::GetModuleHandleExW(flags, reinterpret_cast<const wchar_t*>(&inside), &module) != 0 ? file_of(module)
                                                                                              : std::string();
}

bool has_more_rights() {
  return false;
}

bool has_carryless_product() {
  return false;
}

extern "C" __declspec(dllimport) unsigned char __stdcall SystemFunction036(void* out, unsigned long size);

bool random_bytes(void* out, std::size_t size) {
  return SystemFunction036(out, static_cast<unsigned long>(size)) != 0;  // RtlGenRandom
}

std::string error_text(int number) {
  if (number == ELOOP) return "Too many levels of symbolic links";  // Microsoft's C library does not define it
  const std::string text = std::generic_category().message(number);
  return number == EINVAL ? text + " (a device or a stream is not a file)" : text;
}

std::optional<std::string> environment(const char* name) {
  const auto wide_name = wide(name);
  if (!wide_name) return std::nullopt;
  ::SetLastError(ERROR_SUCCESS);
  const DWORD size = ::GetEnvironmentVariableW(wide_name->c_str(), nullptr, 0);
  if (size == 0 && ::GetLastError() == ERROR_ENVVAR_NOT_FOUND) return std::nullopt;
  std::wstring value(size, L'\0');
  value.resize(::GetEnvironmentVariableW(wide_name->c_str(), value.data(), size));
  return narrow(value);
}

std::string home_folder() {
  return from_native(environment("USERPROFILE").value_or(""));
}

void set_default(const char* name, const std::string& value) {
  const auto wide_name = wide(name), wide_value = wide(value);
  if (wide_name && wide_value && !environment(name)) ::SetEnvironmentVariableW(wide_name->c_str(), wide_value->c_str());
}

bool local_time(std::time_t time, std::tm& out) {
  return ::localtime_s(&out, &time) == 0;
}

bool utc_time(std::time_t time, std::tm& out) {
  return ::gmtime_s(&out, &time) == 0;
}

bool is_terminal(int descriptor) {
  DWORD mode = 0;
  return ::GetConsoleMode(reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor)), &mode) != 0;
}

std::optional<std::size_t> terminal_columns(int descriptor) {
  CONSOLE_SCREEN_BUFFER_INFO info{};
  const auto console = reinterpret_cast<HANDLE>(::_get_osfhandle(descriptor));
  if (::GetConsoleScreenBufferInfo(console, &info) == 0) return std::nullopt;
  return static_cast<std::size_t>(info.srWindow.Right - info.srWindow.Left + 1);
}

namespace {

void (*at_end)(int number) = nullptr;
void (*at_fault)() = nullptr;

BOOL WINAPI on_console(DWORD event) {
  constexpr int interrupt = 2;
  at_end(interrupt);
  // at_end() has returned, so the end was postponed. When the console closes, Windows ends the process once this
  // function returns, so it sleeps instead.
  if (event != CTRL_C_EVENT && event != CTRL_BREAK_EVENT) ::Sleep(INFINITE);
  return TRUE;
}

LONG WINAPI on_exception(EXCEPTION_POINTERS*) {
  at_fault();
  return EXCEPTION_CONTINUE_SEARCH;
}

extern "C" void on_abort(int) {
  constexpr int abort = 6;
  at_end(abort);
}

extern "C" void on_termination(int) {
  constexpr int termination = 15;
  at_end(termination);
}

}  // namespace

void handle_signals(void (*on_end)(int number), void (*on_fault)()) {
  at_end = on_end;
  at_fault = on_fault;
  ::SetConsoleCtrlHandler(on_console, TRUE);
  ::SetUnhandledExceptionFilter(on_exception);
  std::signal(SIGABRT, on_abort);
  std::signal(SIGTERM, on_termination);
}

void ignore_closed_pipes() {}  // Windows has no signals for them

// Not ExitProcess(), which waits for locks that other threads may hold.
void exit_now(int status) {
  ::TerminateProcess(::GetCurrentProcess(), static_cast<UINT>(status));
  ::_exit(status);
}

void begin_on(Thread& /*thread*/, Processor /*processor*/) {}

}  // namespace modelutils::os

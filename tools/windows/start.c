// The program of every tool: calls modelutils-tools.dll, which lies beside it, or beside what it is a link to (winget
// makes links). Without a C library, so that it is small and starts fast.
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

enum { most = 32768 };
static wchar_t path[most];

// Returns where the path's last part begins.
static unsigned name_of_path(unsigned size) {
  while (size > 0 && path[size - 1] != L'\\') --size;
  return size;
}

static HMODULE load_tools(void) {
  static const wchar_t library[] = L"modelutils-tools.dll";
  unsigned size = GetModuleFileNameW(NULL, path, most);
  const HANDLE self =
      CreateFileW(path, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
  const unsigned real =
      self == INVALID_HANDLE_VALUE ? 0 : GetFinalPathNameByHandleW(self, path, most, FILE_NAME_NORMALIZED);
  unsigned begin = 0;
  if (real > 0 && real < most) {
    size = real;
    // The loader wants "C:\…", not "\\?\C:\…", unless the path is too long for the former.
    if (size < MAX_PATH && path[5] == L':') begin = 4;
  } else {
    size = GetModuleFileNameW(NULL, path, most);
  }
  size = name_of_path(size);
  if (size + sizeof library / sizeof *library > most) return NULL;
  for (unsigned i = 0; i < sizeof library / sizeof *library; ++i) path[size + i] = library[i];
  return LoadLibraryExW(path + begin, NULL, LOAD_WITH_ALTERED_SEARCH_PATH);
}

void start(void) {
  const HMODULE tools = load_tools();
  const FARPROC run = tools == NULL ? NULL : GetProcAddress(tools, "modelutils_run");
  if (run == NULL) {
    static const char message[] =
        "modelutils-tools.dll is not beside this program: keep the files of the archive's bin folder together\n";
    DWORD written;
    WriteFile(GetStdHandle(STD_ERROR_HANDLE), message, sizeof message - 1, &written, NULL);
    ExitProcess(127);
  }
  run();
}

// Runs a program with the folders that MODELUTILS_TEST_HOME and MODELUTILS_TEST_CACHE name as the user's (USERPROFILE,
// LOCALAPPDATA): wine sets these variables itself. An empty MODELUTILS_TEST_HOME stands for no such folders.
// usage: with-home PROGRAM ARGUMENT…
#include <windows.h>

static void set_variable(const wchar_t* name, const wchar_t* from) {
  wchar_t value[4096];
  const DWORD size = GetEnvironmentVariableW(from, value, 4096);
  SetEnvironmentVariableW(name, size > 0 ? value : NULL);
}

int main(void) {
  wchar_t* line = GetCommandLineW();
  // Everything after this program's name, which has no escaped quotes.
  int is_quoted = 0;
  while (*line != 0 && (is_quoted || *line != L' ')) {
    if (*line++ == L'"') is_quoted = !is_quoted;
  }
  while (*line == L' ') ++line;
  set_variable(L"USERPROFILE", L"MODELUTILS_TEST_HOME");
  set_variable(L"LOCALAPPDATA", L"MODELUTILS_TEST_CACHE");
  STARTUPINFOW start = {.cb = sizeof start};
  PROCESS_INFORMATION process;
  if (!CreateProcessW(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &process)) return 125;
  DWORD status = 125;
  WaitForSingleObject(process.hProcess, INFINITE);
  GetExitCodeProcess(process.hProcess, &status);
  return (int)status;
}

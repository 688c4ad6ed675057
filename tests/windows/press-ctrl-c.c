// Runs a program and, once a file whose name begins like its second argument is there, presses Ctrl-C in their console.
// usage: press-ctrl-c FOLDER BEGINNING PROGRAM ARGUMENT…       prints the exit status
#include <stdio.h>
#include <string.h>
#include <windows.h>

static int is_there(const char* folder, const char* beginning) {
  char pattern[1024];
  WIN32_FIND_DATAA found;
  snprintf(pattern, sizeof pattern, "%s\\%s*", folder, beginning);
  const HANDLE search = FindFirstFileA(pattern, &found);
  if (search == INVALID_HANDLE_VALUE) return 0;
  FindClose(search);
  return 1;
}

static BOOL WINAPI goes_on(DWORD event) {
  (void)event;
  return TRUE;
}

int main(int argc, char** argv) {
  char line[4096] = "";
  for (int i = 3; i < argc; ++i) {
    strcat(line, argv[i]);
    strcat(line, " ");
  }
  STARTUPINFOA start = {.cb = sizeof start};
  PROCESS_INFORMATION process;
  if (!CreateProcessA(NULL, line, NULL, NULL, TRUE, 0, NULL, NULL, &start, &process)) return 125;
  int waits = 0;
  while (!is_there(argv[1], argv[2]) && WaitForSingleObject(process.hProcess, 20) == WAIT_TIMEOUT && ++waits < 1000) {
  }
  printf("temporary file: %d\n", is_there(argv[1], argv[2]));
  SetConsoleCtrlHandler(goes_on, TRUE);
  const BOOL is_pressed = GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0);
  printf("pressed: %d\n", is_pressed);
  DWORD status = 0;
  if (WaitForSingleObject(process.hProcess, 10000) != WAIT_OBJECT_0) TerminateProcess(process.hProcess, 99);
  WaitForSingleObject(process.hProcess, INFINITE);
  GetExitCodeProcess(process.hProcess, &status);
  printf("status: %lu\n", status);
  return 0;
}

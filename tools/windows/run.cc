// The functions called by the programs of windows/start.c.
#include <cstdlib>

int modelutils_main(int argc, char** argv);  // modelutils.cc

/// Runs the tool that the command line names, and ends the process.
extern "C" [[noreturn]] __declspec(dllexport) void modelutils_run() {
  std::exit(modelutils_main(0, nullptr));  // it reads the command line itself
}

namespace {

long long fails() {
  return 0;
}

}  // namespace

// OpenSSL would show fatal errors in a window. These functions replace those of user32.dll, because loading it takes
// half of a tool's start time. They report no window station, so OpenSSL treats the process as a service.
extern "C" {
extern long long (*const __imp_MessageBoxW)();
extern long long (*const __imp_GetProcessWindowStation)();
extern long long (*const __imp_GetUserObjectInformationW)();
long long (*const __imp_MessageBoxW)() = fails;
long long (*const __imp_GetProcessWindowStation)() = fails;
long long (*const __imp_GetUserObjectInformationW)() = fails;
}

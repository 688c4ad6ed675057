# Toolchain file for aarch64 Linux on another machine. Needs Debian's g++-aarch64-linux-gnu and the development packages
# that packaging/static/libraries unpacks. Programs that the build runs (man pages, tests) run in qemu-user.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
# Run programs with that machine's loader. (With qemu's option -L, programs that open "/" would see the library folder.)
set(aarch64_libraries /usr/aarch64-linux-gnu/lib)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static ${aarch64_libraries}/ld-linux-aarch64.so.1 --library-path ${aarch64_libraries})
# -DMODELUTILS_ROOT=the folder sysroot/ of packaging/static/libraries.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MODELUTILS_ROOT)
set(CMAKE_FIND_ROOT_PATH ${MODELUTILS_ROOT})
# Debian has a separate folder for headers that differ between machines (OpenSSL's configuration).
set(CMAKE_CXX_STANDARD_INCLUDE_DIRECTORIES ${MODELUTILS_ROOT}/usr/include/${CMAKE_LIBRARY_ARCHITECTURE})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

# Toolchain file for Windows on x86-64, on a Debian. Needs g++-mingw-w64-x86-64-posix, libz-mingw-w64-dev, and what
# packaging/static/libraries --machine windows makes.
set(CMAKE_SYSTEM_NAME Windows)
set(CMAKE_SYSTEM_PROCESSOR x86_64)
set(CMAKE_C_COMPILER x86_64-w64-mingw32-gcc-posix)
set(CMAKE_CXX_COMPILER x86_64-w64-mingw32-g++-posix)
set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)
# -DMODELUTILS_ROOT=the folder that packaging/static/libraries wrote to.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES MODELUTILS_ROOT)
set(CMAKE_FIND_ROOT_PATH ${MODELUTILS_ROOT} /usr/x86_64-w64-mingw32)
set(OPENSSL_ROOT_DIR ${MODELUTILS_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)

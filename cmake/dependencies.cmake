# All dependencies are packages of Debian 12 and 13; see scripts/install-dependencies.
find_package(Threads REQUIRED)
# Archives if the system has them, because a program starts faster without shared libraries; else shared libraries, as
# on Fedora, Arch and Nix. -DYAML_LIBRARY=FILE and so on choose otherwise.
if(MODELUTILS_STATIC OR WIN32)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
endif()
if(APPLE)
  list(APPEND CMAKE_PREFIX_PATH /opt/homebrew/opt/openssl@3 /usr/local/opt/openssl@3)  # where Homebrew has it
endif()
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL 3.0 QUIET COMPONENTS Crypto)
set(OPENSSL_USE_STATIC_LIBS ${OPENSSL_FOUND})
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto)
# Debian 13's archive of libcrypto calls zstd, and libssl-dev brings its archive, too. Not every system has the shared
# library, so that a wheel must not need it.
get_target_property(crypto_needs OpenSSL::Crypto INTERFACE_LINK_LIBRARIES)
if("zstd" IN_LIST crypto_needs)
  find_library(ZSTD_ARCHIVE NAMES libzstd.a zstd REQUIRED)
  list(TRANSFORM crypto_needs REPLACE "^zstd$" "${ZSTD_ARCHIVE}")
  set_target_properties(OpenSSL::Crypto PROPERTIES INTERFACE_LINK_LIBRARIES "${crypto_needs}")
endif()
find_library(YAML_LIBRARY NAMES libyaml.a yaml REQUIRED)
find_library(ZLIB_LIBRARY NAMES libz.a z REQUIRED)
find_library(UTF8PROC_LIBRARY NAMES libutf8proc.a utf8proc REQUIRED)
if(NOT MODELUTILS_STATIC AND NOT WIN32)
  find_package(CURL 7.88 REQUIRED)
endif()
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_path(YAML_INCLUDE_DIR yaml.h REQUIRED)
find_path(ZLIB_INCLUDE_DIR zlib.h REQUIRED)
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h REQUIRED)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/writer.h REQUIRED)
find_path(EIGEN_INCLUDE_DIR Eigen/Dense PATH_SUFFIXES eigen3 REQUIRED)
find_path(EXPECTED_INCLUDE_DIR tl/expected.hpp REQUIRED)
find_path(FMT_INCLUDE_DIR fmt/format-inl.h REQUIRED)
find_path(SPDLOG_INCLUDE_DIR spdlog/spdlog.h REQUIRED)
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)

# As system headers, so that their warnings are suppressed. lib/base/fmt_instances.cc compiles fmt into the library,
# because Debian has it only as a shared object, which would triple the start-up time.
add_library(dependencies INTERFACE)
target_include_directories(dependencies SYSTEM INTERFACE
  ${XXHASH_INCLUDE_DIR} ${ZLIB_INCLUDE_DIR} ${YAML_INCLUDE_DIR} ${UTF8PROC_INCLUDE_DIR}
  ${RAPIDJSON_INCLUDE_DIR} ${EXPECTED_INCLUDE_DIR} ${FMT_INCLUDE_DIR})
target_link_libraries(dependencies INTERFACE OpenSSL::Crypto ${YAML_LIBRARY} ${UTF8PROC_LIBRARY} ${ZLIB_LIBRARY}
                      Threads::Threads)
if(WIN32)
  target_compile_definitions(dependencies INTERFACE YAML_DECLARE_STATIC UTF8PROC_STATIC)
  # What OpenSSL and lib/base/os call.
  target_link_libraries(dependencies INTERFACE ws2_32 crypt32 advapi32)
endif()

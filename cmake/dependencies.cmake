# Everything comes from the packages of Debian 12 or 13; scripts/install-dependencies names them.
find_package(Threads REQUIRED)
set(OPENSSL_USE_STATIC_LIBS ON)
find_package(OpenSSL 3.0 REQUIRED)
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_path(YAML_INCLUDE_DIR yaml.h REQUIRED)
find_path(ZLIB_INCLUDE_DIR zlib.h REQUIRED)
if(MODELUTILS_STATIC)
  # Made by packaging/static/libraries, because Debian has them as shared libraries only, or without the run-time dispatch.
  find_library(SIMDJSON_LIBRARY NAMES libsimdjson.a PATHS ${MODELUTILS_STATIC_LIBRARIES} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  find_library(XXHASH_LIBRARY NAMES libxxhash.a PATHS ${MODELUTILS_STATIC_LIBRARIES} NO_DEFAULT_PATH NO_CMAKE_FIND_ROOT_PATH REQUIRED)
  find_library(YAML_LIBRARY NAMES libyaml.a REQUIRED)
  find_library(ZLIB_LIBRARY NAMES libz.a REQUIRED)
  add_library(simdjson::simdjson STATIC IMPORTED)
  set_target_properties(simdjson::simdjson PROPERTIES IMPORTED_LOCATION ${SIMDJSON_LIBRARY}
                        INTERFACE_COMPILE_DEFINITIONS SIMDJSON_THREADS_ENABLED=1)
else()
  find_package(simdjson REQUIRED)
  find_package(CURL 7.88 REQUIRED)
  find_library(XXHASH_LIBRARY NAMES libxxhash.so REQUIRED)  # the shared one has the run-time dispatch, the archive has not
  find_library(YAML_LIBRARY NAMES libyaml.so REQUIRED)      # Debian wants the shared ones
  find_library(ZLIB_LIBRARY NAMES libz.so REQUIRED)
endif()
find_path(UTF8PROC_INCLUDE_DIR utf8proc.h REQUIRED)
find_library(UTF8PROC_LIBRARY NAMES libutf8proc.a REQUIRED)
find_path(RAPIDJSON_INCLUDE_DIR rapidjson/writer.h REQUIRED)
find_path(EIGEN_INCLUDE_DIR Eigen/Dense PATH_SUFFIXES eigen3 REQUIRED)
find_path(EXPECTED_INCLUDE_DIR tl/expected.hpp REQUIRED)
find_path(FMT_INCLUDE_DIR fmt/format-inl.h REQUIRED)
find_path(SPDLOG_INCLUDE_DIR spdlog/spdlog.h REQUIRED)
find_path(CLI11_INCLUDE_DIR CLI/CLI.hpp REQUIRED)

# System headers: their warnings are not ours. fmt is compiled into the library by lib/base/fmt_instances.cc, because
# Debian ships it as a shared object only and that alone would triple the start-up time.
add_library(dependencies INTERFACE)
target_include_directories(dependencies SYSTEM INTERFACE
  ${XXHASH_INCLUDE_DIR} ${ZLIB_INCLUDE_DIR} ${YAML_INCLUDE_DIR} ${UTF8PROC_INCLUDE_DIR}
  ${RAPIDJSON_INCLUDE_DIR} ${EXPECTED_INCLUDE_DIR} ${FMT_INCLUDE_DIR})
target_link_libraries(dependencies INTERFACE OpenSSL::Crypto simdjson::simdjson ${XXHASH_LIBRARY} ${YAML_LIBRARY} ${UTF8PROC_LIBRARY}
                      ${ZLIB_LIBRARY}
                      Threads::Threads)

# cpack -G DEB: a single Debian package with the tools, the library and the development files. Requires
# CMAKE_INSTALL_PREFIX=/usr (which determines Debian's multiarch folders); scripts/package builds it.
#
# Not split into three packages (tools, run-time library, development files), because it is small, its parts are built and
# tested together, and no other Debian package depends on the library alone.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME modelutils)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/finish_staging.cmake)
set(CPACK_MODELUTILS_SOURCE_DIR ${PROJECT_SOURCE_DIR})

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE none)  # finish_package.cmake compresses
set(CPACK_POST_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/finish_package.cmake)
# The package that programs linked with libmodelutils depend on, and the trigger for ldconfig.
file(WRITE ${PROJECT_BINARY_DIR}/debian/shlibs
  "libmodelutils ${PROJECT_VERSION_MAJOR} modelutils (>= ${PROJECT_VERSION})\n")
file(WRITE ${PROJECT_BINARY_DIR}/debian/triggers "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/debian/shlibs ${PROJECT_BINARY_DIR}/debian/triggers)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "bash-completion, libssl-dev, libutf8proc-dev, libyaml-dev, pkg-config, zlib1g-dev")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "tools and a C library for the files of language models")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Command-line tools for GGUF, safetensors, MLX and BUMPWGT3 files:
gguf-dump and st-dump show what is inside, verify checks structure, data
and hashes, model-diff compares, gguf2bump, mlx2gguf and gguf2mlx convert, gguf-quantize quantises,
gguf-edit changes keys, names and layout. They stream with little memory,
trust no byte of their input, and explain every refusal.

libmodelutils gives C, and whatever can call C, the tensors and metadata of
GGUF and safetensors models: by name, by pointer or decoded to float32.")

# The maintainer's name and address come from the changelog.
file(STRINGS ${PROJECT_SOURCE_DIR}/packaging/changelog signature REGEX "^ -- " LIMIT_COUNT 1)
string(REGEX REPLACE "^ -- (.*>)  .*" "\\1" CPACK_DEBIAN_PACKAGE_MAINTAINER "${signature}")
include(CPack)

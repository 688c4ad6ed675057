# An interface target with the flags of all our objects.
add_library(build_flags INTERFACE)

target_compile_options(build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic>
  # In a unity build, names in one file may shadow global names in another; clang cannot exclude these.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:$<IF:$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>,-Wshadow=local,-Wshadow>>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Wimplicit-fallthrough -Wundef>
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Wshadow>
  # Block decoding must be bit-exact, so never contract to fused multiply-adds.
  -ffp-contract=off -ffunction-sections -fdata-sections -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
target_compile_definitions(build_flags INTERFACE _FILE_OFFSET_BITS=64)

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(build_flags INTERFACE -Wno-restrict)  # g++ 12 warns about "literal" + std::string (bug 105651)
endif()

# CMake's default is -O3, which takes a seventh more time to compile than -O2. The files that profit from it ask for it
# (lib/CMakeLists.txt).
if(CMAKE_CXX_FLAGS_RELEASE STREQUAL "-O3 -DNDEBUG")
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
endif()

# For objects whose code runs once per model or tensor instead of once per byte: a third less time to compile. g++ may
# let inlining enlarge a unit by a tenth, not by 40 %.
add_library(cold_code INTERFACE)
target_compile_options(cold_code INTERFACE $<$<CONFIG:Release>:-O1>)
target_compile_options(cold_code INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:$<$<CONFIG:Release>:--param=inline-unit-growth=10>>)

# g++ collects its garbage each time its memory has grown by a third. A unit needs about 700 MB without that.
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(build_flags INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=600000>)
endif()

if(MODELUTILS_WERROR)
  target_compile_options(build_flags INTERFACE -Werror)
endif()

if(MODELUTILS_SANITIZE)
  # AddressSanitizer detects accesses through null pointers anyway; explicit checks would cost a seventh of the compile
  # time.
  target_compile_options(build_flags INTERFACE -fsanitize=address,undefined -fno-sanitize=null
                         -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(build_flags INTERFACE -fsanitize=address,undefined)
elseif(NOT APPLE)
  # For a short start-up, programs link libstdc++ statically and load no unused library. The shared library uses its
  # host's libstdc++. Fedora has libstdc++.a in a package of its own.
  include(CheckLinkerFlag)
  set(runtime_flags -static-libgcc)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    list(PREPEND runtime_flags -static-libstdc++)
  endif()
  foreach(flag ${runtime_flags})
    string(MAKE_C_IDENTIFIER "MODELUTILS_LINKS${flag}" links)
    check_linker_flag(CXX ${flag} ${links})
    if(${links})
      target_link_options(build_flags INTERFACE $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:${flag}>)
    endif()
  endforeach()
endif()
if(APPLE)
  target_link_options(build_flags INTERFACE -Wl,-dead_strip -Wl,-dead_strip_dylibs)
else()
  target_link_options(build_flags INTERFACE -Wl,--gc-sections -Wl,--as-needed)
endif()
if(WIN32)
  target_link_options(build_flags INTERFACE -static)  # no runtime has to be installed
  # json::Node packs bit fields of different types into one word, which Microsoft's layout does not.
  target_compile_options(build_flags INTERFACE -mno-ms-bitfields)
endif()

if(MODELUTILS_COVERAGE)
  target_compile_options(build_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(build_flags INTERFACE --coverage)
endif()

# One interface target carries the flags of every object we compile.
add_library(build_flags INTERFACE)

target_compile_options(build_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wpedantic>
  # clang warns of names that files compiled together (unity.cmake) do not share; g++ does not.
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wshadow>
  $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Wimplicit-fallthrough -Wundef>
  $<$<COMPILE_LANGUAGE:C>:-Wall -Wextra -Wpedantic -Wshadow>
  # Floating point must decode blocks bit for bit: no contraction into fused multiply-adds on machines that have them.
  -ffp-contract=off -ffunction-sections -fdata-sections -fvisibility=hidden
  $<$<COMPILE_LANGUAGE:CXX>:-fvisibility-inlines-hidden>)
target_compile_definitions(build_flags INTERFACE _FILE_OFFSET_BITS=64)

if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(build_flags INTERFACE -Wno-restrict)  # g++ 12 warns of "literal" + std::string (its bug 105651)
endif()

if(MODELUTILS_WERROR)
  target_compile_options(build_flags INTERFACE -Werror)
endif()

if(MODELUTILS_SANITIZE)
  # AddressSanitizer sees what goes through a null pointer; checking each pointer before costs a seventh of the compiling.
  target_compile_options(build_flags INTERFACE -fsanitize=address,undefined -fno-sanitize=null
                         -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(build_flags INTERFACE -fsanitize=address,undefined)
else()
  # Start-up time counts: programs load no libstdc++, and nothing loads a library that is not used. The shared library
  # uses the one that its host has.
  target_link_options(build_flags INTERFACE
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<$<CXX_COMPILER_ID:GNU>:-static-libstdc++>>
    $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-static-libgcc>)
endif()
target_link_options(build_flags INTERFACE -Wl,--gc-sections -Wl,--as-needed)

# Programs have packed relocations where the linker and the C library support these: a tenth less to load. The shared
# library stays loadable by older C libraries.
include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,-z,pack-relative-relocs MODELUTILS_PACKED_RELOCATIONS)
set(executable $<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>)
if(MODELUTILS_PACKED_RELOCATIONS)
  target_link_options(build_flags INTERFACE $<${executable}:-Wl,-z,pack-relative-relocs>)
endif()

if(MODELUTILS_COVERAGE)
  target_compile_options(build_flags INTERFACE --coverage -fprofile-update=atomic)
  target_link_options(build_flags INTERFACE --coverage)
endif()

# All tools as one static program, bin/modelutils, with a link for each tool's name, so that shared code exists once. It
# is linked from a single object that contains everything but the C and C++ libraries, so that users can relink it with
# another glibc, as the LGPL requires.
set(functions)
set(table)
add_library(static_tools OBJECT)
foreach(tool ${tools})
  string(REPLACE - _ source ${tool})
  target_sources(static_tools PRIVATE ${source}.cc)
  if(NOT tool STREQUAL modelutils)
    set_source_files_properties(${source}.cc PROPERTIES COMPILE_DEFINITIONS main=${source}_main)
    string(APPEND functions "int ${source}_main(int argc, char** argv);\n")
    string(APPEND table "    {\"${tool}\", ${source}_main},\n")
  endif()
endforeach()
# The program is also the helper for addresses: libexec/modelutils/fetch.
foreach(source main exchange_program)
  target_sources(static_tools PRIVATE fetch/${source}.cc)
endforeach()
set_source_files_properties(fetch/main.cc PROPERTIES COMPILE_DEFINITIONS main=fetch_main)
string(APPEND functions "int fetch_main(int argc, char** argv);\n")
string(APPEND table "    {\"fetch\", fetch_main},\n")
configure_file(static_tools.cc.in ${CMAKE_CURRENT_BINARY_DIR}/static_tools.cc @ONLY)
target_sources(static_tools PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/static_tools.cc)
set_source_files_properties(modelutils.cc PROPERTIES COMPILE_DEFINITIONS MODELUTILS_STATIC)
target_link_libraries(static_tools PRIVATE tool_cli fetch_rules modelutils build_flags)

set(object ${PROJECT_BINARY_DIR}/static/modelutils-tools.o)
get_target_property(crypto OpenSSL::Crypto IMPORTED_LOCATION)
add_custom_command(OUTPUT ${object} VERBATIM COMMAND_EXPAND_LISTS
  COMMAND ${CMAKE_LINKER} -r --force-group-allocation --gc-sections -u main -o ${object} $<TARGET_OBJECTS:static_tools>
          --start-group $<TARGET_FILE:tool_cli> $<TARGET_FILE:fetch_rules> $<TARGET_FILE:modelutils> ${XXHASH_LIBRARY} ${YAML_LIBRARY}
          ${UTF8PROC_LIBRARY} ${ZLIB_LIBRARY} ${crypto} --end-group
  COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=main --strip-unneeded ${object}
  DEPENDS static_tools $<TARGET_OBJECTS:static_tools> tool_cli fetch_rules modelutils
  COMMENT "Linking all tools into one object")
set(links)
foreach(tool ${tools})
  if(NOT tool STREQUAL modelutils)
    list(APPEND links COMMAND ${CMAKE_COMMAND} -E create_symlink modelutils ${PROJECT_BINARY_DIR}/bin/${tool})
  endif()
endforeach()
set(helpers ${PROJECT_BINARY_DIR}/libexec/modelutils)
list(APPEND links COMMAND ${CMAKE_COMMAND} -E make_directory ${helpers}
                  COMMAND ${CMAKE_COMMAND} -E create_symlink ../../bin/modelutils ${helpers}/fetch)
set(program ${PROJECT_BINARY_DIR}/bin/modelutils)
add_custom_command(OUTPUT ${program} VERBATIM
  # C++ library templates that are unique per program (tables of digits) are in both the object and the library.
  COMMAND ${CMAKE_CXX_COMPILER} -static -s -o ${program} ${object} -Wl,-z,muldefs
  ${links}
  DEPENDS ${object}
  COMMENT "Linking the static program")
add_custom_target(front ALL DEPENDS ${program})
foreach(tool ${tools})
  if(NOT tool STREQUAL modelutils)
    string(REPLACE - _ target ${tool})
    add_custom_target(${target} DEPENDS front)
  endif()
endforeach()

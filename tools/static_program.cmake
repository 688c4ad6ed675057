# bin/modelutils as a static program. It is linked from a single object that contains everything but the C and C++
# libraries, so that users can relink it with another glibc, as the LGPL requires.
# The program is also the helper for addresses: libexec/modelutils/fetch.
target_sources(tool_objects PRIVATE fetch/main.cc fetch/exchange_program.cc)
set_source_files_properties(fetch/main.cc PROPERTIES COMPILE_DEFINITIONS main=fetch_main)
set_source_files_properties(modelutils.cc PROPERTIES COMPILE_DEFINITIONS MODELUTILS_STATIC)
target_link_libraries(tool_objects PRIVATE fetch_rules)

set(object ${PROJECT_BINARY_DIR}/static/modelutils-tools.o)
get_target_property(crypto OpenSSL::Crypto IMPORTED_LOCATION)
add_custom_command(OUTPUT ${object} VERBATIM COMMAND_EXPAND_LISTS
  COMMAND ${CMAKE_LINKER} -r --force-group-allocation --gc-sections -u main -o ${object} $<TARGET_OBJECTS:tool_objects>
          --start-group $<TARGET_FILE:tool_cli> $<TARGET_FILE:fetch_rules> $<TARGET_FILE:modelutils> ${YAML_LIBRARY} ${UTF8PROC_LIBRARY}
          ${ZLIB_LIBRARY} ${crypto} --end-group
  COMMAND ${CMAKE_OBJCOPY} --keep-global-symbol=main --strip-unneeded ${object}
  DEPENDS tool_objects $<TARGET_OBJECTS:tool_objects> tool_cli fetch_rules modelutils
  COMMENT "Linking all tools into one object")
set(helpers ${PROJECT_BINARY_DIR}/libexec/modelutils)
add_custom_command(OUTPUT ${program} VERBATIM
  # C++ library templates that are unique per program (tables of digits) are in both the object and the library.
  COMMAND ${CMAKE_CXX_COMPILER} -static -s -o ${program} ${object} -Wl,-z,muldefs
  COMMAND ${CMAKE_COMMAND} -E make_directory ${helpers}
  COMMAND ${CMAKE_COMMAND} -E create_symlink ../../bin/modelutils ${helpers}/fetch
  DEPENDS ${object}
  COMMENT "Linking the static program")
add_custom_target(front ALL DEPENDS ${program})

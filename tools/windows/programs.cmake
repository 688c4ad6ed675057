# The tools for Windows: bin/modelutils-tools.dll with all of them, and a program of some kilobytes for each name, which
# calls it. Links do not survive in a zip archive, ten copies of one program would be ten times as large, and a program
# that starts another one would take twice as long and would have to pass on Ctrl-C and being ended.
target_sources(tool_objects PRIVATE fetch/main.cc fetch/exchange_program.cc)
set_source_files_properties(fetch/main.cc PROPERTIES COMPILE_DEFINITIONS main=fetch_main)
set_source_files_properties(modelutils.cc PROPERTIES COMPILE_DEFINITIONS "MODELUTILS_STATIC;main=modelutils_main")
target_link_libraries(tool_objects PRIVATE fetch_rules)

# The same sources give the same bytes: no time is written.
set(without_time -Wl,--no-insert-timestamp)
add_library(front SHARED $<TARGET_OBJECTS:tool_objects> windows/run.cc)
set_target_properties(front PROPERTIES OUTPUT_NAME modelutils-tools PREFIX "" LINKER_LANGUAGE CXX)
target_link_libraries(front PRIVATE tool_cli fetch_rules modelutils build_flags)
target_link_options(front PRIVATE -s ${without_time})

add_executable(start_tool windows/start.c windows/tool.rc)
set_target_properties(start_tool PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/start)
target_compile_options(start_tool PRIVATE $<$<COMPILE_LANGUAGE:C>:-Wall;-Wextra;-Os;-fno-asynchronous-unwind-tables>)
target_link_options(start_tool PRIVATE -nostdlib -Wl,-e,start -s ${without_time})
target_link_libraries(start_tool PRIVATE kernel32)
set(programs ${tools})
list(TRANSFORM programs REPLACE "(.+)" ${PROJECT_BINARY_DIR}/bin/\\1.exe)
foreach(program ${programs})
  add_custom_command(OUTPUT ${program} COMMAND ${CMAKE_COMMAND} -E copy $<TARGET_FILE:start_tool> ${program} DEPENDS start_tool)
endforeach()
add_custom_target(tools ALL DEPENDS ${programs} front)

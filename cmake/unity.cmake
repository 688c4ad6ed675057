# Unity builds: compiles several files of a folder together. For small files, most of the compile time is spent on
# headers and on standard library templates, which a unit needs only once.
option(MODELUTILS_UNITY "Compile the files of a folder together (off: each for itself)" ON)
set(MODELUTILS_UNIT_KB 120 CACHE STRING "Source text per unit; 40 compiles a change sooner, but everything later")

# group_units(TARGET): groups TARGET's files, by folder, into units of up to MODELUTILS_UNIT_KB. Files with expensive
# headers of their own are excluded by the property SKIP_UNITY_BUILD_INCLUSION.
function(group_units target)
  if(NOT MODELUTILS_UNITY)
    return()
  endif()
  math(EXPR bytes "${MODELUTILS_UNIT_KB} * 1000")
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source ${sources})
    if(NOT source MATCHES "\\.cc$")
      continue()
    endif()
    get_filename_component(path ${source} ABSOLUTE BASE_DIR ${folder})
    get_filename_component(room ${path} DIRECTORY)
    file(RELATIVE_PATH room ${folder} ${room})
    string(REPLACE "/" "_" room "${room}")
    file(SIZE ${path} size)
    if(NOT DEFINED number_${room})
      set(number_${room} 1)
      set(filled_${room} 0)
    endif()
    math(EXPR filled "${filled_${room}} + ${size}")
    if(filled GREATER bytes AND filled_${room} GREATER 0)
      math(EXPR number_${room} "${number_${room}} + 1")
      set(filled ${size})
    endif()
    set(filled_${room} ${filled})
    set_source_files_properties(${path} TARGET_DIRECTORY ${target}
                                PROPERTIES UNITY_GROUP ${room}_${number_${room}})
  endforeach()
  # Names in one file may shadow names in another file of the unit.
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wshadow=local>)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# The libmodelutils.a that is installed: the C API and what it reaches as one object whose only global symbols are mu_….
# A quarter of the size of the archive that the tools link, and nothing in it can collide with its user's own symbols
# (another version of fmt, say).
set(header ${PROJECT_SOURCE_DIR}/lib/c_api/modelutils.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
file(STRINGS ${header} declarations REGEX "^MU_API ")
set(roots)
foreach(declaration ${declarations})
  string(REGEX REPLACE ".*[ *](mu_[a-z0-9_]+)\\(.*" "\\1" function "${declaration}")
  list(APPEND roots -u ${function})
endforeach()

# Where there is an archive of everything, it is inside as well.
set(inside)
if(MODELUTILS_STATIC)
  get_target_property(crypto OpenSSL::Crypto IMPORTED_LOCATION)
  set(inside --start-group ${SIMDJSON_LIBRARY} ${XXHASH_LIBRARY} ${YAML_LIBRARY} ${UTF8PROC_LIBRARY} ${ZLIB_LIBRARY} ${crypto} --end-group)
endif()
set(folder ${PROJECT_BINARY_DIR}/static)
set(MODELUTILS_STATIC_LIBRARY ${folder}/libmodelutils.a)
file(MAKE_DIRECTORY ${folder})
add_custom_command(OUTPUT ${MODELUTILS_STATIC_LIBRARY} VERBATIM
  COMMAND ${CMAKE_LINKER} -r --force-group-allocation --gc-sections ${roots} -o ${folder}/modelutils.o $<TARGET_FILE:modelutils>
          ${inside}
  COMMAND ${CMAKE_OBJCOPY} --wildcard --keep-global-symbol=mu_* --strip-unneeded ${folder}/modelutils.o
  COMMAND ${CMAKE_COMMAND} -E rm -f ${MODELUTILS_STATIC_LIBRARY}
  COMMAND ${CMAKE_AR} qcsD ${MODELUTILS_STATIC_LIBRARY} ${folder}/modelutils.o
  DEPENDS modelutils
  COMMENT "Linking what is installed as libmodelutils.a")
add_custom_target(static_library ALL DEPENDS ${MODELUTILS_STATIC_LIBRARY})

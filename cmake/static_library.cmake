# The installed libmodelutils.a: the C API and the code that it uses, linked into one object whose only global symbols
# are mu_…. It is a quarter of the size of the archive for the tools, and cannot collide with its user's symbols (such
# as another version of fmt).
set(header ${PROJECT_SOURCE_DIR}/lib/c_api/modelutils.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${header})
file(STRINGS ${header} declarations REGEX "^MU_API ")
set(roots)
foreach(declaration ${declarations})
  string(REGEX REPLACE ".*[ *](mu_[a-z0-9_]+)\\(.*" "\\1" function "${declaration}")
  list(APPEND roots -u ${function})
endforeach()

# In a static build, the dependencies are included.
set(inside)
if(MODELUTILS_STATIC)
  get_target_property(crypto OpenSSL::Crypto IMPORTED_LOCATION)
  set(inside --start-group ${YAML_LIBRARY} ${UTF8PROC_LIBRARY} ${ZLIB_LIBRARY} ${crypto} --end-group)
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

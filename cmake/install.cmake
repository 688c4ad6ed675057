# cmake --install: tools, library, header, CMake package, pkg-config files, documentation. modelutils.h is the only
# installed interface. (tools/ installs man pages and completions.)
install(FILES README.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES packaging/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY packaging/policies DESTINATION ${CMAKE_INSTALL_DATADIR}/modelutils)
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} PATTERN man EXCLUDE PATTERN schemas EXCLUDE)
install(DIRECTORY docs/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/modelutils)
if(WIN32)
  install(FILES $<TARGET_FILE:front> DESTINATION ${CMAKE_INSTALL_BINDIR})
  list(TRANSFORM tools REPLACE "(.+)" ${PROJECT_BINARY_DIR}/bin/\\1.exe OUTPUT_VARIABLE programs)
  install(PROGRAMS ${programs} DESTINATION ${CMAKE_INSTALL_BINDIR})
  return()  # not yet: the library, and the manual in a form for Windows
endif()

if(MODELUTILS_STATIC)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/bin/ DESTINATION ${CMAKE_INSTALL_BINDIR} USE_SOURCE_PERMISSIONS)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/libexec/ DESTINATION libexec)
  install(FILES ${PROJECT_BINARY_DIR}/static/modelutils-tools.o DESTINATION ${CMAKE_INSTALL_LIBDIR}/modelutils)
else()
  install(TARGETS front RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  list(TRANSFORM tools PREPEND ${PROJECT_BINARY_DIR}/bin/ OUTPUT_VARIABLE links)
  list(REMOVE_ITEM links ${PROJECT_BINARY_DIR}/bin/modelutils)
  install(FILES ${links} DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(TARGETS fetch RUNTIME DESTINATION libexec/modelutils)
  install(TARGETS modelutils_shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(MODELUTILS_SANITIZE OR MODELUTILS_COVERAGE OR APPLE)  # Apple's linker and tools cannot do what the other does
  install(TARGETS modelutils ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
else()
  include(cmake/static_library.cmake)
  install(FILES ${MODELUTILS_STATIC_LIBRARY} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(FILES ${PROJECT_SOURCE_DIR}/lib/c_api/modelutils.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# Libraries that a program must link in addition to libmodelutils.a.
if(MODELUTILS_STATIC)
  set(MODELUTILS_STATIC_LIBS "-lstdc++ -lm")
elseif(APPLE)
  set(MODELUTILS_STATIC_LIBS "-lyaml -lutf8proc -lcrypto -lz -lc++")
else()
  set(MODELUTILS_STATIC_LIBS "-lyaml -lutf8proc -lcrypto -lz -lstdc++ -lm")
endif()
string(REPLACE " " ";" MODELUTILS_STATIC_LIBS_LIST "${MODELUTILS_STATIC_LIBS}")

include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/modelutils)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/modelutils-config.cmake.in
  ${PROJECT_BINARY_DIR}/modelutils-config.cmake INSTALL_DESTINATION ${package_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/modelutils-config-version.cmake COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/modelutils-config.cmake ${PROJECT_BINARY_DIR}/modelutils-config-version.cmake
  DESTINATION ${package_dir})

# The prefix is only known at installation (cmake --install --prefix, CPack).
foreach(name modelutils modelutils-static)
  set(MODELUTILS_PREFIX "@MODELUTILS_PREFIX@")
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc.in @ONLY)
  install(CODE "
    set(MODELUTILS_PREFIX \"\${CMAKE_INSTALL_PREFIX}\")
    configure_file(\"${PROJECT_BINARY_DIR}/${name}.pc.in\" \"${PROJECT_BINARY_DIR}/${name}.pc\" @ONLY)
    file(INSTALL \"${PROJECT_BINARY_DIR}/${name}.pc\"
         DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/pkgconfig\")")
endforeach()

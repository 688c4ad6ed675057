# Run by cpack after it has built the package. Removes the scripts that CPack adds to call ldconfig, because Debian
# expects a trigger (which the package has), and rebuilds the package with dpkg-deb, whose output is reproducible.
set(content ${CPACK_TOPLEVEL_DIRECTORY}/content)
foreach(package ${CPACK_PACKAGE_FILES})
  file(REMOVE_RECURSE ${content})
  execute_process(COMMAND dpkg-deb --raw-extract ${package} ${content} COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE ${content}/DEBIAN/postinst ${content}/DEBIAN/postrm)
  execute_process(COMMAND dpkg-deb --root-owner-group -Zxz --threads-max=1 --build ${content} ${package}
                  OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(REMOVE_RECURSE ${content})

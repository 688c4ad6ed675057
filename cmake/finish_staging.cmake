# Run by cpack when the staging folder is complete. Compresses the files that Debian wants compressed and sets all time
# stamps to the release date, so that builds are reproducible.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
set(doc ${root}/usr/share/doc/modelutils)
file(COPY_FILE ${CPACK_MODELUTILS_SOURCE_DIR}/packaging/changelog ${doc}/changelog)
file(MAKE_DIRECTORY ${root}/usr/share/lintian/overrides)
file(COPY_FILE ${CPACK_MODELUTILS_SOURCE_DIR}/packaging/lintian-overrides ${root}/usr/share/lintian/overrides/modelutils)
file(GLOB_RECURSE pages ${root}/usr/share/man/*.[0-9])
execute_process(COMMAND gzip -9n ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
# File modes must not depend on the checkout's umask: not writable by group, executable only if necessary.
execute_process(COMMAND chmod -R u+rwX,go+rX,go-w ${root} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND find ${root}/usr/share ${root}/usr/include -type f -exec chmod 644 {} + COMMAND_ERROR_IS_FATAL ANY)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${root} -depth -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
                  COMMAND_ERROR_IS_FATAL ANY)
endif()

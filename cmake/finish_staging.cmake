# Run by cpack when everything stands in the staging folder: what Debian wants to be compressed is compressed, and every
# time stamp is that of the release, so that the same sources give the same bytes.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
set(doc ${root}/usr/share/doc/modelutils)
file(COPY_FILE ${CPACK_MODELUTILS_SOURCE_DIR}/packaging/changelog ${doc}/changelog)
file(GLOB_RECURSE pages ${root}/usr/share/man/*.[0-9])
execute_process(COMMAND gzip -9n ${doc}/changelog ${pages} COMMAND_ERROR_IS_FATAL ANY)
# Neither writable by a group nor executable without need, whatever the umask of the checkout was.
execute_process(COMMAND chmod -R u+rwX,go+rX,go-w ${root} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND find ${root}/usr/share ${root}/usr/include -type f -exec chmod 644 {} + COMMAND_ERROR_IS_FATAL ANY)
if(DEFINED ENV{SOURCE_DATE_EPOCH})
  execute_process(COMMAND find ${root} -depth -exec touch --no-dereference --date=@$ENV{SOURCE_DATE_EPOCH} {} +
                  COMMAND_ERROR_IS_FATAL ANY)
endif()

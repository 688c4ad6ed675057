# Sets `rooms` to the folders of lib/, lowest floor first.
file(STRINGS ${PROJECT_SOURCE_DIR}/lib/rooms rooms REGEX "^[0-9]")
list(TRANSFORM rooms REPLACE "^[0-9]+ " "")
set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lib/rooms)

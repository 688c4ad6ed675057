# Writes docs/findings.md into a source file, in pieces that every compiler takes.
set(page_file ${PROJECT_SOURCE_DIR}/docs/findings.md)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page_file})
file(READ ${page_file} page HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${page}")
string(REGEX REPLACE "((0x[0-9a-f][0-9a-f],){32})" "\\1\n" bytes "${bytes}")
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/findings_page.cc CONTENT
"#include \"report/findings_page.h\"

namespace modelutils {

namespace {
constexpr unsigned char page[] = {
@bytes@};
}  // namespace

std::string_view findings_page() {
  return {reinterpret_cast<const char*>(page), sizeof page};
}

}  // namespace modelutils
" @ONLY)
target_sources(modelutils PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/findings_page.cc)

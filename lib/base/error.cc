#include "base/error.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/path.h"

namespace modelutils {

std::string errno_text(int number) {
  return std::generic_category().message(number);
}

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

const Finding* first_container_error(const Findings& findings) {
  auto found = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.severity == Severity::error && finding.scope == Scope::container;
  });
  return found == findings.end() ? nullptr : &*found;
}

const Finding* first_error(const Findings& findings) {
  auto found = std::find_if(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.severity == Severity::error && finding.scope != Scope::data;
  });
  return found == findings.end() ? nullptr : &*found;
}

Error to_error(const Finding& finding, std::string_view path) {
  std::string file(path);
  if (!finding.file.empty()) {
    std::error_code ignored;  // what is no directory is a file, or gone
    const bool is_folder = !file.empty() && std::filesystem::is_directory(file, ignored);
    if (is_folder && !file.ends_with('/')) file += '/';
    file = folder_of(file) + finding.file;
  }
  return Error{ErrorKind::input, finding.code, std::move(file), finding.offset, finding.where, finding.message};
}

Finding to_finding(const Error& error, Scope scope) {
  return Finding{Severity::error, scope, error.code, error.offset, error.where, error.message, {}};
}

}  // namespace modelutils

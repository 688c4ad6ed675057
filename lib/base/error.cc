#include "base/error.h"

#include <fmt/format.h>

#include <filesystem>
#include <system_error>

#include "base/escape.h"
#include "base/path.h"

namespace modelutils {

namespace {

template <typename Predicate>
const Finding* first_that(const Findings& findings, Predicate&& wanted) {
  const Finding* first = nullptr;
  for (const Finding& finding : findings) {
    if (!wanted(finding)) continue;
    if (finding.leads) return &finding;
    if (first == nullptr) first = &finding;
  }
  return first;
}

template <typename Remark>
std::string placed(const Remark& remark) {
  std::string place;
  if (remark.offset) place = fmt::format("byte {}", *remark.offset);
  if (!remark.where.empty()) place += (place.empty() ? "" : ": ") + escape(remark.where);
  std::string message = escape(remark.message);
  if (place.empty()) return message;
  return remark.leads ? fmt::format("{} ({})", message, place) : fmt::format("{}: {}", place, message);
}

}  // namespace

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
  return first_that(findings, [](const Finding& finding) {
    return finding.severity == Severity::error && finding.scope == Scope::container;
  });
}

const Finding* first_error(const Findings& findings) {
  return first_that(findings, [](const Finding& finding) {
    return finding.severity == Severity::error && finding.scope != Scope::data;
  });
}

Error to_error(const Finding& finding, std::string_view path) {
  std::string file(path);
  if (!finding.file.empty()) {
    std::error_code ignored;  // what is not a directory is a file, or gone
    const bool is_folder = !file.empty() && std::filesystem::is_directory(file, ignored);
    if (is_folder && !file.ends_with('/')) file += '/';
    file = folder_of(file) + finding.file;
  }
  return Error{ErrorKind::input, finding.code,    std::move(file), finding.offset,
               finding.where,    finding.message, finding.leads};
}

Finding to_finding(const Error& error, Scope scope) {
  return Finding{Severity::error, scope, error.code, error.offset, error.where, error.message, {}, error.leads};
}

std::string placed_message(const Error& error) {
  return placed(error);
}
std::string placed_message(const Finding& finding) {
  return placed(finding);
}

}  // namespace modelutils

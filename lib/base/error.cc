#include "base/error.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/escape.h"
#include "base/os/files.h"
#include "base/os/process.h"
#include "base/path.h"
#include "base/text.h"
#include "base/utf8.h"

namespace modelutils {

std::string Place::text() const {
  constexpr std::size_t most = 120;
  if (name.size() <= most) return fmt::format("{} '{}'", noun, name);
  std::size_t cut = 0;
  while (true) {
    const std::size_t next = cut + decode_utf8(name.substr(cut)).size;
    if (next > most) break;
    cut = next;
  }
  return fmt::format("{} '{}…'", noun, name.substr(0, cut));
}

namespace {

template <typename Predicate>
const Finding* first_that(std::span<const Finding> findings, Predicate&& wanted) {
  const Finding* first = nullptr;
  for (const Finding& finding : findings) {
    if (finding.severity != Severity::error || !wanted(finding.scope)) continue;
    if (finding.leads) return &finding;
    if (first == nullptr) first = &finding;
  }
  return first;
}

}  // namespace

std::string_view severity_name(Severity severity) {
  switch (severity) {
    case Severity::note: return "note";
    case Severity::warning: return "warning";
    case Severity::error: return "error";
  }
  return "error";
}

const Finding* first_container_error(std::span<const Finding> findings) {
  return first_that(findings, [](Scope scope) { return scope == Scope::container; });
}

const Finding* first_error(std::span<const Finding> findings) {
  return first_that(findings, [](Scope scope) { return scope != Scope::data; });
}

Findings leading_warnings(std::span<const Finding> findings) {
  Findings leading;
  for (const Finding& finding : findings) {
    if (finding.leads && finding.severity == Severity::warning) leading.push_back(finding);
  }
  return leading;
}

Finding with_path(Finding finding, std::string_view path) {
  std::string file(path);
  if (!finding.file.empty()) {
    // A path that does not exist counts as a file. "hf://ORG/REPO" counts as a folder.
    const bool is_repository = file.starts_with("hf://") && std::ranges::count(file, '/') == 3;
    const bool is_folder = is_repository || (!file.empty() && os::is_folder(file));
    if (is_folder && !file.ends_with('/')) file += '/';
    file = folder_of(file) + finding.file;
  }
  finding.file = std::move(file);
  return finding;
}

Finding without_path(Finding finding, Scope scope, std::string_view name) {
  finding.file = name;
  finding.scope = scope;
  return finding;
}

std::string placed_message(const Finding& finding) {
  std::string place;
  if (finding.offset) place = fmt::format("byte {}", *finding.offset);
  if (!finding.where.empty()) place += (place.empty() ? "" : ": ") + escape(finding.where);
  std::string message = escape(finding.message);
  if (place.empty()) return message;
  return finding.leads ? fmt::format("{} ({})", message, place) : fmt::format("{}: {}", place, message);
}

std::string errno_text(int number) {
  return os::error_text(number);
}

}  // namespace modelutils

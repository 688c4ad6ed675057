#include "report/verify_forms.h"

#include <fmt/core.h>

#include <filesystem>

#include "base/escape.h"
#include "base/path.h"

namespace modelutils {

std::unique_ptr<VerifyForm> make_verify_form(std::string_view form, bool strict) {
  if (form == "sarif") return sarif_form();
  if (form == "junit") return junit_form(strict);
  if (form == "github") return github_form();
  if (form == "markdown") return markdown_form(strict);
  return nullptr;
}

std::string path_of_finding(const VerifyReport& report, const Finding& finding) {
  if (finding.file.empty()) return report.path;
  std::error_code ignored;
  const bool is_folder = std::filesystem::is_directory(report.path, ignored);
  const std::string folder = is_folder ? report.path : std::string(folder_of(report.path));
  if (folder.empty()) return finding.file;
  return folder.ends_with('/') ? folder + finding.file : folder + "/" + finding.file;
}

std::string text_of_finding(const Finding& finding) {
  std::string text;
  if (finding.offset) text += fmt::format("byte {}: ", *finding.offset);
  if (!finding.where.empty()) text += escape(finding.where) + ": ";
  return text + escape(finding.message);
}

}  // namespace modelutils

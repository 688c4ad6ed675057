// The report of verify in the forms that CI systems display: SARIF, JUnit, GitHub's workflow commands, Markdown.
// Validators check the outputs (tests/reports). The findings are the same as in verify_text.h and verify_report.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "report/verify_text.h"

namespace modelutils {

class VerifyForm {
 public:
  virtual ~VerifyForm() = default;
  /// Adds a report and returns the output that is ready; forms that begin with totals return everything in finish().
  virtual std::string add(const VerifyReport& report) = 0;
  /// Call after the last path.
  virtual std::string finish() = 0;
};

/// `form` is "sarif", "junit", "github" or "markdown"; returns nullptr for another name. `strict`: warnings make a path
/// bad.
std::unique_ptr<VerifyForm> make_verify_form(std::string_view form, bool strict);

/// SARIF 2.1.0, one run. Results are printed as they arrive. The rules follow at the end: the codes that occurred, with
/// their pages of docs/findings.md.
std::unique_ptr<VerifyForm> sarif_form();
/// JUnit according to Jenkins' schema: a test case for each path.
std::unique_ptr<VerifyForm> junit_form(bool strict);
/// Workflow commands, with the errors of a path first.
std::unique_ptr<VerifyForm> github_form();
/// For a job's summary page: totals, a table of paths, the findings; at most 1 MB.
std::unique_ptr<VerifyForm> markdown_form(bool strict);

/// Returns the path of the file that a finding is about: the report's path, or a file in its folder.
std::string path_of_finding(const VerifyReport& report, const Finding& finding);
/// Returns for example "byte 24: tensor 'x': is …", escaped.
std::string text_of_finding(const Finding& finding);

}  // namespace modelutils

// What verify says of its paths in the forms that CI systems show: SARIF, JUnit, GitHub's workflow commands, Markdown.
// Checked by validators (tests/reports). The findings are those of verify_text.h and verify_report.h.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "report/verify_report.h"

namespace modelutils {

class VerifyForm {
 public:
  virtual ~VerifyForm() = default;
  /// What can be printed of one path already; forms that begin with totals hold everything back.
  virtual std::string add(const VerifyReport& report) = 0;
  /// After the last path.
  virtual std::string finish() = 0;
};

/// `form` is "sarif", "junit", "github" or "markdown"; nullptr for another name. `strict`: warnings make a path bad.
std::unique_ptr<VerifyForm> make_verify_form(std::string_view form, bool strict);

/// SARIF 2.1.0, one run. The rules are the codes that occur, with their pages of docs/findings.md; results are printed as they
/// come, rules at the end.
std::unique_ptr<VerifyForm> sarif_form();
/// JUnit as Jenkins' schema has it: a test case for each path.
std::unique_ptr<VerifyForm> junit_form(bool strict);
/// Workflow commands, errors of a path first.
std::unique_ptr<VerifyForm> github_form();
/// For the summary page of a job: totals, a table of paths, the findings; at most 1 MB.
std::unique_ptr<VerifyForm> markdown_form(bool strict);

/// The path of the file that a finding is about: that of the report, or of a file in its folder.
std::string path_of_finding(const VerifyReport& report, const Finding& finding);
/// "byte 24: tensor 'x': is …", escaped.
std::string text_of_finding(const Finding& finding);

}  // namespace modelutils

#include <fmt/core.h>

#include "base/escape.h"
#include "report/verify_forms.h"

namespace modelutils {

namespace {

// XML 1.0 cannot represent most control characters; escape() has replaced them. U+FFFE and U+FFFF cannot be represented
// either.
std::string xml(std::string_view text) {
  const std::string visible = escape(text);
  std::string out;
  for (std::size_t i = 0; i < visible.size(); ++i) {
    const std::string_view rest = std::string_view(visible).substr(i);
    if (rest.starts_with("\xEF\xBF\xBE") || rest.starts_with("\xEF\xBF\xBF")) {
      out += rest.starts_with("\xEF\xBF\xBE") ? "\\u{fffe}" : "\\u{ffff}";
      i += 2;
      continue;
    }
    switch (visible[i]) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&apos;"; break;
      default: out += visible[i];
    }
  }
  return out;
}

class JunitForm : public VerifyForm {
 public:
  explicit JunitForm(bool strict) : strict_(strict) {}

  std::string add(const VerifyReport& report) override {
    ++tests_;
    seconds_ += report.seconds;
    std::string lines;
    const Finding* first = nullptr;  // the first finding that makes the path bad
    for (const Finding& finding : report.findings) {
      lines +=
          xml(fmt::format("{}: {} [{}]", severity_name(finding.severity), text_of_finding(finding), finding.code)) +
          "\n";
      const bool counts = finding.severity == Severity::error || (strict_ && finding.severity == Severity::warning);
      if (counts && first == nullptr) first = &finding;
    }
    cases_ += fmt::format("    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n",
                          report.format.empty() ? "unknown" : xml(report.format), xml(report.path), report.seconds);
    if (report.is_bad(strict_) || first != nullptr) {
      ++failures_;
      cases_ += fmt::format("      <failure type=\"{}\" message=\"{}\">{}</failure>\n",
                            first != nullptr ? xml(first->code) : "",
                            first != nullptr ? xml(text_of_finding(*first)) : "", lines);
    } else if (!lines.empty()) {
      cases_ += fmt::format("      <system-out>{}</system-out>\n", lines);
    }
    cases_ += "    </testcase>\n";
    return {};
  }

  std::string finish() override {
    const std::string totals =
        fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" time=\"{:.3f}\"", tests_, failures_, seconds_);
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite name=\"verify\" {0}>\n{1}  "
        "</testsuite>\n"
        "</testsuites>\n",
        totals, cases_);
  }

 private:
  bool strict_;
  u64 tests_ = 0, failures_ = 0;
  double seconds_ = 0;
  std::string cases_;
};

}  // namespace

std::unique_ptr<VerifyForm> junit_form(bool strict) {
  return std::make_unique<JunitForm>(strict);
}

}  // namespace modelutils

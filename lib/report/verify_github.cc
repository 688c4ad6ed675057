#include <algorithm>

#include "base/escape.h"
#include "report/verify_forms.h"

namespace modelutils {

namespace {

// Encodes text as actions/toolkit does: '%' first.
std::string encoded(std::string_view text, bool is_property) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '%': out += "%25"; break;
      case '\r': out += "%0D"; break;
      case '\n': out += "%0A"; break;
      case ':': out += is_property ? "%3A" : ":"; break;
      case ',': out += is_property ? "%2C" : ","; break;
      default: out += c;
    }
  }
  return out;
}

std::string_view command_of(Severity severity) {
  switch (severity) {
    case Severity::error: return "error";
    case Severity::warning: return "warning";
    case Severity::note: break;
  }
  return "notice";
}

class GithubForm : public VerifyForm {
 public:
  std::string add(const VerifyReport& report) override {
    std::vector<const Finding*> findings;
    for (const Finding& finding : report.findings) findings.push_back(&finding);
    std::ranges::stable_sort(findings, {}, [](const Finding* finding) {
      return finding->severity == Severity::error ? 0 : finding->severity == Severity::warning ? 1 : 2;
    });
    std::string lines;
    for (const Finding* finding : findings) {
      lines += "::";
      lines += command_of(finding->severity);
      lines += " file=" + encoded(escape(path_of_finding(report, *finding)), true);
      lines += ",title=" + encoded(finding->code, true);
      lines += "::" + encoded(text_of_finding(*finding), false) + "\n";
    }
    return lines;
  }
  std::string finish() override { return {}; }
};

}  // namespace

std::unique_ptr<VerifyForm> github_form() {
  return std::make_unique<GithubForm>();
}

}  // namespace modelutils

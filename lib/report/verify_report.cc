#include "report/verify_report.h"

#include <fmt/core.h>

#include "base/counted.h"
#include "base/numbers.h"
#include "json/writer.h"

namespace modelutils {

std::string verify_summary(const VerifyReport& report) {
  return fmt::format("{}: {}, {}, {}, {} of tensor data read, {:.3f} s", report.path, report.format,
                     counted(report.files, "file"), counted(report.tensors, "tensor"), byte_text(report.bytes_read),
                     report.seconds);
}

std::string verify_json(const VerifyReport& report, bool strict) {
  json::Writer out;
  const auto optional_text = [&](std::string_view name, std::string_view text) { out.text_or_null(name, text); };
  {
    const auto in_object = out.object();
    out.member("schema", "verify/1");
    out.member("path", report.path);
    optional_text("format", report.format);
    if (!report.policy.empty()) out.member("policy", report.policy);
    out.member("verdict", report.is_bad(strict) ? "bad" : "ok");
    out.member("errors", report.errors);
    out.member("warnings", report.warnings);
    const auto in_findings = out.array("findings");
    for (const Finding& finding : report.findings) {
      const auto in_item = out.object();
      out.member("severity", severity_name(finding.severity));
      out.member("code", finding.code);
      optional_text("file", finding.file);
      out.member_or_null("offset", finding.offset);
      optional_text("where", finding.where);
      out.member("message", finding.message);
    }
  }
  out.end_line();
  return out.text();
}

}  // namespace modelutils

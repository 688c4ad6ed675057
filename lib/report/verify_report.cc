#include "report/verify_report.h"

#include <fmt/format.h>

#include "base/escape.h"
#include "json/writer.h"
#include "report/numbers.h"

namespace modelutils {

namespace {

constexpr std::string_view bold = "\x1b[1m";
constexpr std::string_view green = "\x1b[32m";
constexpr std::string_view color_off = "\x1b[0m";

std::string_view color_of(Severity severity) {
  switch (severity) {
    case Severity::error: return "\x1b[1;31m";
    case Severity::warning: return "\x1b[1;33m";
    case Severity::note: return "\x1b[36m";
  }
  return {};
}

std::string colored(std::string_view text, std::string_view color, bool use) {
  return use ? fmt::format("{}{}{}", color, text, color_off) : std::string(text);
}

std::string finding_line(const std::string& path, const Finding& finding, bool color) {
  std::string line = colored(path, bold, color) + ": ";
  if (!finding.file.empty()) line += escape(finding.file) + ": ";
  line += colored(severity_name(finding.severity), color_of(finding.severity), color) + ": ";
  if (finding.offset) line += fmt::format("byte {}: ", *finding.offset);
  if (!finding.where.empty()) line += escape(finding.where) + ": ";
  line += fmt::format("{} [{}]\n", escape(finding.message), finding.code);
  return line;
}

}  // namespace

std::string verify_text(const VerifyReport& report, const VerifyTextOptions& options) {
  const std::string path = escape(report.path);
  std::string text;
  for (const Finding& finding : report.findings) {
    if (options.errors_only && finding.severity != Severity::error) continue;
    text += finding_line(path, finding, options.color);
  }
  if (options.errors_only && !report.is_bad(options.strict)) return text;
  const bool clean = report.errors == 0 && report.warnings == 0;
  const Severity worst = report.errors != 0 ? Severity::error : Severity::warning;
  const std::string verdict =
      clean ? std::string("ok") : fmt::format("{} errors, {} warnings", report.errors, report.warnings);
  text += fmt::format("{}: {}\n", colored(path, bold, options.color),
                      colored(verdict, clean ? green : color_of(worst), options.color));
  return text;
}

std::string verify_summary(const VerifyReport& report) {
  return fmt::format("{}: {}, {} file{}, {} tensor{}, {} of tensor data read, {:.3f} s", report.path, report.format,
                     report.files, report.files == 1 ? "" : "s", report.tensors, report.tensors == 1 ? "" : "s",
                     byte_text(report.bytes_read), report.seconds);
}

std::string verify_json(const VerifyReport& report, bool strict) {
  json::Writer out;
  const auto optional_text = [&](std::string_view name, std::string_view text) {
    out.key(name);
    if (text.empty()) {
      out.null();
    } else {
      out.string(text);
    }
  };
  out.begin_object();
  out.member("schema", "verify/1");
  out.member("path", report.path);
  optional_text("format", report.format);
  out.member("verdict", report.is_bad(strict) ? "bad" : "ok");
  out.member("errors", report.errors);
  out.member("warnings", report.warnings);
  out.key("findings");
  out.begin_array();
  for (const Finding& finding : report.findings) {
    out.begin_object();
    out.member("severity", severity_name(finding.severity));
    out.member("code", finding.code);
    optional_text("file", finding.file);
    out.key("offset");
    if (finding.offset) {
      out.number(*finding.offset);
    } else {
      out.null();
    }
    optional_text("where", finding.where);
    out.member("message", finding.message);
    out.end_object();
  }
  out.end_array();
  out.end_object();
  out.end_line();
  return out.text();
}

}  // namespace modelutils

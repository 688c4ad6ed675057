#include "report/verify_text.h"

#include <fmt/core.h>

#include "base/escape.h"
#include "base/text.h"
#include "base/utf8.h"
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

namespace {

constexpr std::string_view bold = "\x1b[1m";
constexpr std::string_view green = "\x1b[32m";
constexpr std::string_view end_of_color = "\x1b[0m";

constexpr u64 fold_from = 3;             // two lines tell more than one line with a count
constexpr std::size_t max_notes = 1000;  // bounds memory: hostile files may produce a distinct note for each path

std::string_view color_of(Severity severity) {
  switch (severity) {
    case Severity::error: return "\x1b[1;31m";
    case Severity::warning: return "\x1b[1;33m";
    case Severity::note: return "\x1b[36m";
  }
  return {};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Returns the position after the number at `at`: digits separated by points or commas, and an exponent.
std::size_t end_of_number(std::string_view text, std::size_t at) {
  const auto digit_at = [&](std::size_t i) { return i < text.size() && is_digit(text[i]); };
  while (digit_at(at) || (at < text.size() && (text[at] == '.' || text[at] == ',') && digit_at(at + 1))) ++at;
  if (at + 1 < text.size() && text[at] == 'e' && (digit_at(at + 1) || digit_at(at + 2))) {
    at += 2;
    while (digit_at(at)) ++at;
  }
  return at;
}

// Returns a finding's message with numbers and quoted names removed.
std::string kind_of(const Finding& finding) {
  std::string kind = fmt::format("{} {} ", severity_name(finding.severity), finding.code);
  const std::string_view text = finding.message;
  for (std::size_t i = 0; i < text.size();) {
    if (is_digit(text[i])) {
      kind += '#';
      i = end_of_number(text, i);
      continue;
    }
    const std::size_t close = text[i] == '\'' ? text.find('\'', i + 1) : text.npos;
    kind += text[i];
    i = close == text.npos ? i + 1 : close + 1;
  }
  return kind;
}

// --check promises to name each tensor that differs, so these are never merged.
bool is_told_one_by_one(const Finding& finding) {
  return finding.severity == Severity::error && finding.code.starts_with("manifest-");
}

}  // namespace

std::vector<std::optional<std::string>> count_repeated(const Findings& findings) {
  std::vector<std::string> kinds;
  std::map<std::string_view, u64> counts;
  for (const Finding& finding : findings) kinds.push_back(kind_of(finding));
  for (const std::string& kind : kinds) ++counts[kind];
  std::vector<std::optional<std::string>> remarks;
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    u64& count = counts[kinds[i]];
    if (is_told_one_by_one(findings[i]) || (count > 0 && count < fold_from)) {
      remarks.emplace_back("");
    } else if (count == 0) {  // included in the count of an earlier finding
      remarks.emplace_back(std::nullopt);
    } else {
      remarks.emplace_back(fmt::format(" (the first of {}; -v lists all)", count));
      count = 0;
    }
  }
  return remarks;
}

std::string VerifyText::colored(std::string_view text, std::string_view color) const {
  return options_.color ? fmt::format("{}{}{}", color, text, end_of_color) : std::string(text);
}

// Returns a line that begins with `head`, which takes `columns` and may be coloured, wrapped if that is wanted.
std::string VerifyText::wrapped(std::string head, std::size_t columns, std::string_view rest) const {
  if (options_.width == 0 || rest.empty()) return head.append(rest.empty() ? "" : " ").append(rest) + "\n";
  append_wrapped(head, rest, columns, 2, options_.width);
  return head;
}

std::string VerifyText::line(std::string_view path, const Finding& finding, std::string_view remark) const {
  const std::string file = finding.file.empty() ? "" : escape(finding.file) + ": ";
  const std::string_view severity = severity_name(finding.severity);
  return wrapped(colored(path, bold) + ": " + file + colored(severity, color_of(finding.severity)) + ":",
                 display_width(path) + 2 + display_width(file) + severity.size() + 1,
                 fmt::format("{}{} [{}]", placed_message(finding), remark, finding.code));
}

bool VerifyText::has_been_noted(const Finding& finding, const std::string& kind) {
  const auto known = notes_.find(kind);
  if (known == notes_.end()) {
    if (notes_.size() < max_notes) notes_.emplace(kind, Note{finding, paths_, paths_, 0});
    return false;
  }
  Note& note = known->second;
  if (note.last_path != paths_) ++note.more_paths;
  note.last_path = paths_;
  return note.first_path != paths_;
}

std::string VerifyText::add(const VerifyReport& report) {
  ++paths_;
  is_tree_ = is_tree_ || report.is_below;
  if (report.is_no_model) {
    folders_ += report.unreadable ? 1 : 0;
  } else {
    ++models_;
    bad_ += report.is_bad(options_.strict) ? 1 : 0;
    bytes_ += report.bytes;
  }
  if (report.unreadable) return {};  // reported by its own error message
  const std::string path = escape(report.path);
  const std::vector<std::optional<std::string>> remarks = count_repeated(report.findings);
  std::string text;
  for (std::size_t i = 0; i < remarks.size(); ++i) {
    const Finding& finding = report.findings[i];
    if (options_.errors_only && finding.severity != Severity::error) continue;
    if (!options_.all && finding.severity == Severity::note && has_been_noted(finding, kind_of(finding))) continue;
    if (options_.all || remarks[i]) text += line(path, finding, options_.all ? "" : *remarks[i]);
  }
  if (options_.errors_only && !report.is_bad(options_.strict)) return text;
  const bool clean = report.errors == 0 && report.warnings == 0;
  if (clean && report.is_no_model) return text;  // notes about a cache
  const Severity worst = report.errors != 0 ? Severity::error : Severity::warning;
  const std::string verdict =
      clean ? "ok" : fmt::format("{}, {}", counted(report.errors, "error"), counted(report.warnings, "warning"));
  // Shows the scope of the check; for a bad model the errors matter more.
  std::string scope;
  if (report.errors == 0 && !report.checked.empty()) scope = fmt::format("({})", escape(report.checked));
  if (report.errors != 0 && !report.policy.empty()) scope = fmt::format("(policy {})", escape(report.policy));
  return text + wrapped(colored(path, bold) + ": " + colored(verdict, clean ? green : color_of(worst)),
                        display_width(path) + 2 + verdict.size(), scope);
}

std::string VerifyText::totals() const {
  std::string text = fmt::format("{}: {} ok", counted(models_, "model"), thousands(models_ - bad_));
  if (bad_ > 0) text += ", " + colored(fmt::format("{} bad", thousands(bad_)), color_of(Severity::error));
  text += ", " + byte_text(bytes_);
  if (folders_ > 0) text += ", " + colored(counted(folders_, "folder") + " not readable", color_of(Severity::error));
  return text + "\n";
}

std::string VerifyText::finish() const {
  std::string text;
  for (const auto& [kind, note] : notes_) {
    if (note.more_paths == 0) continue;
    Finding finding = note.first;  // the other notes have other offsets
    finding.file.clear();
    finding.where.clear();
    finding.offset.reset();
    text += line(counted(note.more_paths, "more path"), finding, " (-v lists all)");
  }
  const bool is_wanted = is_tree_ && (!options_.errors_only || bad_ + folders_ > 0);
  return is_wanted ? text + totals() : text;
}

}  // namespace modelutils

#include <fmt/core.h>

#include "base/counted.h"
#include "base/escape.h"
#include "report/markdown_text.h"
#include "report/verify_forms.h"

namespace modelutils {

namespace {

std::string plain(std::string_view text) {
  return markdown_text(escape(text));
}

class MarkdownForm : public VerifyForm {
 public:
  explicit MarkdownForm(bool strict) : strict_(strict) {}

  std::string add(const VerifyReport& report) override {
    const bool is_bad = report.is_bad(strict_);
    ++paths_;
    bad_ += is_bad ? 1 : 0;
    std::string row = fmt::format("| {} | {} | {} | {} | {} |\n", is_bad ? "**bad**" : "ok", plain(report.path),
                                  plain(report.format), report.errors, report.warnings);
    std::string list;
    for (const Finding& finding : report.findings) {
      list += fmt::format("- {}: {} ({})\n", severity_name(finding.severity), plain(text_of_finding(finding)),
                          plain(finding.code));
    }
    if (!list.empty()) list = fmt::format("\n### {}\n\n{}", plain(report.path), list);
    // A job summary holds at most 1 MiB.
    constexpr std::size_t most = 900'000;
    if (rows_.size() + lists_.size() + row.size() + list.size() > most) {
      ++left_out_;
      return {};
    }
    rows_ += row;
    lists_ += list;
    return {};
  }

  std::string finish() override {
    std::string text = fmt::format("## verify: {}, {} bad\n\n", counted(paths_, "path"), bad_);
    text += "| | path | format | errors | warnings |\n|---|---|---|---|---|\n" + rows_ + lists_;
    if (left_out_ > 0) text += fmt::format("\n{} more do not fit on this page.\n", counted(left_out_, "path"));
    return text;
  }

 private:
  bool strict_;
  u64 paths_ = 0, bad_ = 0, left_out_ = 0;
  std::string rows_, lists_;
};

}  // namespace

std::unique_ptr<VerifyForm> markdown_form(bool strict) {
  return std::make_unique<MarkdownForm>(strict);
}

}  // namespace modelutils

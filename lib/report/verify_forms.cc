#include "report/verify_forms.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "base/escape.h"
#include "base/os/files.h"
#include "base/path.h"
#include "base/text.h"
#include "io/hash.h"
#include "json/writer.h"
#include "report/finding_pages.h"
#include "report/key_text.h"

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
  const bool is_folder = os::is_folder(report.path);
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

namespace {

constexpr std::string_view information_uri = "urn:modelutils:verify";  // as in the SPDX form; the project has no web
                                                                       // page
constexpr u64 most_results = 25'000;                                   // GitHub accepts no more results per run

// Returns the URI of a path, relative if it lies in the working directory. Bytes that a URI cannot contain become %XX.
std::string uri(const std::string& path) {
  std::string relative = path;
  if (os::is_absolute(path)) {
    const auto here = os::working_folder();
    const std::string below = here ? path_from(*here, path) : std::string();
    // "file:///C:/folder" on Windows
    const std::string root = path.starts_with('/') ? "file://" : "file:///";
    relative = below.empty() || below.starts_with("..") ? root + path : below;
  }
  const bool is_absolute = relative.starts_with("file://");
  std::string out = is_absolute ? "file://" : "";
  for (const char c : std::string_view(relative).substr(out.size())) {
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                          c == '.' || c == '_' || c == '~' || c == '/';
    if (is_plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<u8>(c));
    }
  }
  return out;
}

std::string_view level_of(Severity severity) {
  return severity == Severity::error ? "error" : severity == Severity::warning ? "warning" : "note";
}

std::string sentence(std::string text) {
  if (!text.ends_with('.')) text += '.';
  return text;
}

// Messages may contain Markdown links, [text](address), so brackets are escaped with a backslash. Names never become
// links.
std::string escape_brackets(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '[' || c == ']') out += '\\';
    out += c;
  }
  return out;
}

class SarifForm : public VerifyForm {
 public:
  std::string add(const VerifyReport& report) override {
    std::string lines;
    if (count_ == 0 && !is_open_) {
      is_open_ = true;
      lines =
          "{\"version\":\"2.1.0\",\"$schema\":\"https://json.schemastore.org/"
          "sarif-2.1.0.json\",\"runs\":[{\"results\":[\n";
    }
    for (const Finding& finding : report.findings) {
      if (count_ == most_results) break;
      lines += (count_++ > 0 ? ",\n" : "") + result(report, finding);
    }
    return lines;
  }

  std::string finish() override {
    std::string lines = is_open_ ? std::string() : add({});
    json::Writer out;
    {
      const auto in_object = out.object();
      const auto in_driver = out.object("driver");
      out.member("name", "verify (modelutils)");
      out.member("version", MODELUTILS_VERSION);
      out.member("informationUri", information_uri);
      const auto in_rules = out.array("rules");
      for (const Rule& rule : rules_) write_rule(out, rule);
    }
    return lines + "\n],\"columnKind\":\"utf16CodeUnits\",\"tool\":" + out.text() + "}]}\n";
  }

 private:
  struct Rule {
    std::string code;
    Severity severity;
  };

  std::size_t rule_of(const Finding& finding) {
    const auto [found, is_new] = numbers_.emplace(finding.code, rules_.size());
    if (is_new) rules_.push_back({finding.code, finding.severity});
    return found->second;
  }

  std::string result(const VerifyReport& report, const Finding& finding) {
    const std::string path = path_of_finding(report, finding);
    json::Writer out;
    {
      const auto in_object = out.object();
      out.member("ruleId", finding.code);
      out.member("ruleIndex", static_cast<u64>(rule_of(finding)));
      out.member("level", level_of(finding.severity));
      out.key("message");
      write_text(out, sentence(escape_brackets(text_of_finding(finding))));
      {
        const auto in_locations = out.array("locations");
        const auto in_item = out.object();
        const auto in_physical_location = out.object("physicalLocation");
        {
          const auto in_artifact_location = out.object("artifactLocation");
          out.member("uri", uri(path));
        }
        const auto in_region = out.object("region");
        out.member("startLine", u64{1});  // GitHub hides results without a line
        out.member("byteOffset", finding.offset);
        if (finding.offset) out.member("byteLength", u64{1});
      }
      // Leaves the offset out, so that the fingerprint is stable between runs.
      const std::string identity = finding.code + '\0' + path + '\0' + finding.where;
      const auto in_partial_fingerprints = out.object("partialFingerprints");
      std::string hex;
      for (const char byte : xxh3_digest(std::as_bytes(std::span(identity))))
        hex += fmt::format("{:02x}", static_cast<u8>(byte));
      out.member("modelutils/v1", hex);
    }
    return out.text();
  }

  static void write_text(json::Writer& out, const std::string& text) {
    const auto in_object = out.object();
    out.member("text", text);
  }

  static void write_rule(json::Writer& out, const Rule& rule) {
    const std::string page = page_of_finding(rule.code).value_or(rule.code);
    const std::string plain = plain_text(page);
    const auto in_object = out.object();
    out.member("id", rule.code);
    out.key("shortDescription");
    write_text(out, sentence(first_sentence(plain)));
    out.key("fullDescription");
    write_text(out, sentence(plain));
    {
      const auto in_help = out.object("help");
      out.member("text", sentence(plain));
      out.member("markdown", sentence(page));
    }
    const auto in_default_configuration = out.object("defaultConfiguration");
    out.member("level", level_of(rule.severity));
  }

  bool is_open_ = false;
  u64 count_ = 0;
  std::vector<Rule> rules_;
  std::map<std::string, std::size_t> numbers_;
};

}  // namespace

std::unique_ptr<VerifyForm> sarif_form() {
  return std::make_unique<SarifForm>();
}

}  // namespace modelutils

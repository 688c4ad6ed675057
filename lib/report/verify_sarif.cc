#include <fmt/core.h>

#include <filesystem>
#include <map>

#include "base/escape.h"
#include "io/hash.h"
#include "json/writer.h"
#include "report/finding_pages.h"
#include "report/verify_forms.h"

namespace modelutils {

namespace {

constexpr std::string_view information_uri = "urn:modelutils:verify";  // as in the SPDX form; the project has no web
                                                                       // page
constexpr u64 most_results = 25'000;                                   // GitHub accepts no more results per run

// Returns the URI of a path, relative if it lies in the working directory. Bytes that a URI cannot contain become %XX.
std::string uri(const std::string& path) {
  std::error_code failed;
  std::string relative = path;
  if (path.starts_with('/')) {
    const std::filesystem::path here = std::filesystem::current_path(failed);
    const std::string below = failed ? std::string() : std::filesystem::path(path).lexically_relative(here).string();
    relative = below.empty() || below.starts_with("..") ? "file://" + path : below;
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

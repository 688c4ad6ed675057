#include "report/finding_pages.h"

#include <fmt/core.h>

#include <algorithm>

namespace modelutils {

namespace {

constexpr unsigned char page_bytes[] = {
#include "findings_page.inc"  // docs/findings.md, written by embed.cmake
};

// Replaces "[text](place)" by "text"; `is_plain`: also removes backticks and asterisks.
std::string without_links(std::string_view markdown, bool is_plain) {
  std::string text;
  for (std::size_t i = 0; i < markdown.size(); ++i) {
    const char c = markdown[i];
    const std::size_t close = c == '[' ? markdown.find("](", i) : markdown.npos;
    if (close != markdown.npos && markdown.find('\n', i) > close) {
      text += without_links(markdown.substr(i + 1, close - i - 1), is_plain);
      i = std::min(markdown.find(')', close), markdown.size() - 1);
    } else if (!is_plain || (c != '`' && c != '*')) {
      text += c;
    }
  }
  return text;
}

}  // namespace

std::optional<std::string> page_of_finding(std::string_view code) {
  const std::string_view all(reinterpret_cast<const char*>(page_bytes), sizeof page_bytes);
  const std::string heading = "\n### " + std::string(code) + "\n";
  const std::size_t at = all.find(heading);
  if (code.empty() || at == all.npos) return std::nullopt;
  std::string_view page = all.substr(at + heading.size());
  page = page.substr(0, std::min(page.find("\n### "), page.find("\n## ")));
  while (page.ends_with('\n')) page.remove_suffix(1);
  return without_links(page, false);
}

Result<std::string> explained_finding(const std::string& code) {
  const std::optional<std::string> page = page_of_finding(code);
  if (page) return code + "\n\n" + plain_text(*page) + "\n";
  Error error =
      input_error("verify-unknown-code",
                  fmt::format("'{}' is not a finding code; codes are in brackets at the end of a message", code))
          .value();
  error.kind = ErrorKind::no_match;
  return tl::make_unexpected(std::move(error));
}

std::string plain_text(std::string_view markdown) {
  return without_links(markdown, true);
}

std::string first_sentence(std::string_view text) {
  std::string line(text.substr(0, text.find("\n\n")));
  for (char& c : line) c = c == '\n' ? ' ' : c;
  const std::size_t end = line.find(". ");
  return end == line.npos ? line : line.substr(0, end + 1);
}

}  // namespace modelutils

// A self-contained HTML file that makes no network requests. It embeds the JSON objects that --json prints
// (docs/json.md), and the scripts in this folder display them as tables and figures.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/standard_output.h"

namespace modelutils {

/// Rewrites JSON so that it is safe in a <script> element: <, > and & become \u escapes. Successive values on separate
/// lines become elements of one array. Texts longer than `most_characters` are cut and marked with the number of
/// missing characters, so that one value of 10 MB does not make a page of 10 MB.
class EmbeddedJson {
 public:
  static constexpr u64 most_characters = u64{1} << 16;

  explicit EmbeddedJson(std::string& out) : out_(out) {}
  /// Appends a piece of the text; pieces may be split anywhere.
  void append(std::string_view json);

 private:
  void in_text(char c);
  void end_text();

  std::string& out_;
  bool in_text_ = false;
  int escape_left_ = 0;  ///< bytes of the current escape that are still to come
  bool after_backslash_ = false;
  u64 characters_ = 0;  ///< characters of the current text so far
  bool at_line_end_ = false;
};

/// Returns the content security policy for a page that contains only this style and this script.
std::string content_security_policy(std::string_view style, std::string_view script);

class HtmlPage {
 public:
  using Sink = std::function<Status(std::string_view html)>;

  /// `sink` receives the page piece by piece.
  explicit HtmlPage(Sink sink) : sink_(std::move(sink)) {}
  HtmlPage(const HtmlPage&) = delete;
  HtmlPage& operator=(const HtmlPage&) = delete;

  /// Adds the output of `write`: one JSON object or more, each on its own line. Errors: those of `write` and the sink.
  Status add(const std::function<Status(TextOutput& out)>& write);
  /// Adds the output of `write`, which is long, as a compressed block for the page's script to unpack when it is
  /// needed: gzip in base64, in the element `id`. Errors: those of `write`.
  Status add_packed(std::string_view id, const std::function<Status(TextOutput& out)>& write);
  /// Writes the rest of the page. Errors: those of the sink.
  Status finish();

 private:
  Status begin();

  Sink sink_;
  bool has_begun_ = false;
  std::string blocks_;
  std::string piece_;
  EmbeddedJson data_{piece_};
};

}  // namespace modelutils

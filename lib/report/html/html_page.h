// A page to look at: one HTML file with everything in it, which asks the network for nothing. What it shows are the
// objects that --json prints (docs/json.md), so the page has no form of its own for any fact; the script in this folder
// turns them into tables and figures.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "io/text_output.h"

namespace modelutils {

/// Rewrites JSON so that it may stand in a <script> element, whatever texts it holds: <, > and & become \u escapes.
/// Values that follow each other on lines become elements of one array. Texts longer than `most_characters` are cut and
/// say by how much, so that one value of 10 MB does not make a page of 10 MB.
class EmbeddedJson {
 public:
  static constexpr u64 most_characters = u64{1} << 16;

  explicit EmbeddedJson(std::string& out) : out_(out) {}
  /// Any piece of the text; a piece may end anywhere.
  void append(std::string_view json);

 private:
  void in_text(char c);
  void end_text();

  std::string& out_;
  bool in_text_ = false;
  int escape_left_ = 0;  ///< bytes of an escape that are still to come
  bool after_backslash_ = false;
  u64 characters_ = 0;  ///< of the text so far
  bool at_line_end_ = false;
};

/// The policy of a page that has this style and this script and nothing else.
std::string content_security_policy(std::string_view style, std::string_view script);

class HtmlPage {
 public:
  using Sink = std::function<Status(std::string_view html)>;

  /// `sink` gets the page piece by piece.
  explicit HtmlPage(Sink sink) : sink_(std::move(sink)) {}
  HtmlPage(const HtmlPage&) = delete;
  HtmlPage& operator=(const HtmlPage&) = delete;

  /// Adds what `write` prints: one JSON object or more, each on a line of its own. Errors: those of `write` and the
  /// sink.
  Status add(const std::function<Status(TextOutput& out)>& write);
  Status finish();

 private:
  Status begin();

  Sink sink_;
  bool has_begun_ = false;
  std::string piece_;
  EmbeddedJson data_{piece_};
};

}  // namespace modelutils

// The records of a run: its findings, all counted and a limited number of each kind kept, and the log that -v prints.
// The library writes lines; the program (tools/cli) decides on the level and the destination.
#pragma once

#include <fmt/core.h>

#include <chrono>
#include <concepts>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/types.h"

namespace modelutils {

enum class LogLevel : u8 { nothing, info, debug };

/// Receives one line of unescaped text. Several threads may call it at once.
using LogSink = std::function<void(LogLevel level, std::string_view text)>;

/// Sends all lines up to `level` to `sink`. Call it before starting threads. Until then no lines are logged.
void set_log(LogLevel level, LogSink sink);

bool is_logged(LogLevel level);
/// Passes a line to the sink if its level is enabled.
void log_line(LogLevel level, std::string_view text);

/// Logs which file is processed and which choice was made and why (-v).
template <typename... Values>
void log_info(fmt::format_string<Values...> form, Values&&... values) {
  if (is_logged(LogLevel::info)) log_line(LogLevel::info, fmt::format(form, std::forward<Values>(values)...));
}

/// Logs steps and durations (-v -v).
template <typename... Values>
void log_debug(fmt::format_string<Values...> form, Values&&... values) {
  if (is_logged(LogLevel::debug)) log_line(LogLevel::debug, fmt::format(form, std::forward<Values>(values)...));
}

/// Logs the duration of a step in its destructor (-v -v).
class LogStep {
 public:
  explicit LogStep(std::string_view what) : what_(what) {}
  LogStep(const LogStep&) = delete;
  LogStep& operator=(const LogStep&) = delete;
  ~LogStep();

 private:
  std::string what_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

// Collects the findings of parsers and rules: counts all of them, keeps a limited number of each kind.

/// Bounds memory against a hostile file that breaks one rule a million times. Keeps the first `kept_per_code` findings
/// of each code and severity, counts all, and findings() reports how many were dropped. Error and warning counts are
/// exact. Iterates over the kept findings in the order of arrival.
class FindingLog {
 public:
  static constexpr u64 kept_per_code = 100;

  FindingLog() = default;
  /// Starts with findings from elsewhere, e.g. from a parser.
  explicit FindingLog(Findings findings) { add_all(std::move(findings)); }

  /// Adds a finding, or only counts it if enough of its kind are stored.
  void add(Finding finding);
  void add_all(Findings findings);
  /// Adds the findings and the counts of another log.
  void add_all(FindingLog other);

  /// Adds a finding. `message` is a text or a function that returns one, and `where` a text or a Place; both are
  /// formatted only if the finding is kept. `file` is the base name within a set, as in Finding.
  template <typename Message, typename Where = std::string_view>
  void error(Scope scope, std::string_view code, Message&& message, Where&& where = {}, std::optional<u64> offset = {},
             std::string_view file = {}) {
    add(Severity::error, scope, code, std::forward<Message>(message), std::forward<Where>(where), offset, file);
  }
  template <typename Message, typename Where = std::string_view>
  void warning(Scope scope, std::string_view code, Message&& message, Where&& where = {},
               std::optional<u64> offset = {}, std::string_view file = {}) {
    add(Severity::warning, scope, code, std::forward<Message>(message), std::forward<Where>(where), offset, file);
  }
  template <typename Message, typename Where = std::string_view>
  void note(Scope scope, std::string_view code, Message&& message, Where&& where = {}, std::optional<u64> offset = {},
            std::string_view file = {}) {
    add(Severity::note, scope, code, std::forward<Message>(message), std::forward<Where>(where), offset, file);
  }
  /// Like error(), warning() and note(), with the severity as an argument.
  template <typename Message, typename Where = std::string_view>
  void add(Severity severity, Scope scope, std::string_view code, Message&& message, Where&& where = {},
           std::optional<u64> offset = {}, std::string_view file = {}) {
    if (!keeps(severity, code)) return count_only(severity, code);
    Finding finding{.severity = severity, .scope = scope, .code = std::string(code), .offset = offset};
    if constexpr (std::invocable<Message>) {
      finding.message = message();
    } else {
      finding.message = std::forward<Message>(message);
    }
    finding.where = std::string(std::forward<Where>(where));
    finding.file = file;
    add(std::move(finding));
  }

  /// True if another finding with this severity and code would be kept. If false, count_only() avoids building one.
  bool keeps(Severity severity, std::string_view code) const;
  /// Counts findings without storing them.
  void count_only(Severity severity, std::string_view code, u64 count = 1);

  /// Replaces the severity of every finding, kept or only counted, by the result of `change`.
  void change_severities(const std::function<Severity(Severity severity, std::string_view code)>& change);

  /// Sets the file of every finding that names none.
  void set_file(std::string_view base_name);
  /// Clears the file of every finding, for a model that consists of one file.
  void clear_file();

  Findings::const_iterator begin() const { return kept_.begin(); }
  Findings::const_iterator end() const { return kept_.end(); }
  std::size_t size() const { return kept_.size(); }
  bool empty() const { return kept_.empty(); }
  const Finding& front() const { return kept_.front(); }
  const Finding& back() const { return kept_.back(); }
  const Finding& operator[](std::size_t i) const { return kept_[i]; }

  u64 errors() const { return errors_; }
  u64 warnings() const { return warnings_; }

  /// Returns the kept findings in the order of arrival, those that lead first, followed by a note for each code with
  /// more findings than were kept.
  Findings findings() const;

 private:
  struct Kind {
    Severity severity;
    std::string code;
    auto operator<=>(const Kind&) const = default;
  };
  struct KindView {
    Severity severity;
    std::string_view code;
  };
  struct KindLess {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      if (a.severity != b.severity) return a.severity < b.severity;
      return std::string_view(a.code) < std::string_view(b.code);
    }
  };

  u64& counter(Severity severity, std::string_view code);

  Findings kept_;
  std::map<Kind, u64, KindLess> counts_;
  u64 errors_ = 0;
  u64 warnings_ = 0;
};

}  // namespace modelutils

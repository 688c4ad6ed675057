// The only file that uses spdlog. A logger is created only when -v is given, because most runs are short and their
// start is benchmarked.
#define SPDLOG_FMT_EXTERNAL
#define SPDLOG_HEADER_ONLY
#define SPDLOG_NO_EXCEPTIONS
#define SPDLOG_EOL "\n"
#include <fmt/core.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <utility>

#include "base/escape.h"
#include "base/log.h"
#include "base/os/files.h"
#include "cli/command.h"
#include "cli/mistakes.h"
#include "io/atomic_directory.h"
#include "io/remote_settings.h"
#include "io/standard_output.h"
#include "json/writer.h"

namespace modelutils::cli {

namespace {

void write_line(std::string line) {
  line += '\n';
  std::string_view left = line;
  while (!left.empty()) {
    const i64 done = os::write(os::standard_error, left.data(), left.size());
    if (done < 0) return;  // the error cannot be reported anywhere
    left.remove_prefix(static_cast<std::size_t>(done));
  }
}

// Uses one name for standard input, independent of the source of the error.
std::string_view shown_file(const Error& error) {
  return error.kind == ErrorKind::input && error.file == "-" ? std::string_view("standard input") : error.file;
}

std::string as_json(const Error& error, std::string_view severity) {
  json::Writer out;
  {
    const auto in_object = out.object();
    out.member("severity", severity);
    out.member("code", error.code);
    out.text_or_null("file", shown_file(error));
    out.member_or_null("offset", error.offset);
    out.text_or_null("where", error.where);
    out.member("message", error.message);
  }
  return out.text();
}

std::string as_text(const std::string& tool, const Error& error, std::string_view severity) {
  std::string line = tool + ": ";
  if (severity != "error") line += fmt::format("{}: ", severity);
  if (!error.file.empty()) line += escape(shown_file(error)) + ": ";
  line += placed_message(error);
  if (error.kind == ErrorKind::usage) line += fmt::format("; try '{} --help'", tool);
  return line + " [" + error.code + "]";
}

}  // namespace

int exit_status(const Error& error) {
  switch (error.kind) {
    case ErrorKind::usage: return exit_usage;
    case ErrorKind::input: return exit_input;
    case ErrorKind::no_match: return exit_findings;
    case ErrorKind::output: return exit_output;
    case ErrorKind::internal: return exit_internal;
  }
  return exit_internal;
}

Messages::Messages(const Command& command) : Messages(command.name(), command.common()) {}
Messages::Messages(std::string tool, CommonOptions options) : tool_(std::move(tool)), options_(options) {}

int Messages::error(const Error& given) const {
  // An input that is also standard output may have been reported as unreadable or broken. Report the real cause.
  const Status safe = standard_output_is_no_input();
  const Error error = safe ? explained(given) : safe.error();
  if (error.code == "out-closed") return exit_ok;  // the reader closed the pipe; not an error
  static bool is_told = false;                     // report this cause once only
  if (!safe && std::exchange(is_told, true)) return exit_status(error);
  write_line(options_.json_errors ? as_json(error, "error") : as_text(tool_, error, "error"));
  return exit_status(error);
}

void Messages::warning(const Error& remark) const {
  if (options_.quiet || !standard_output_is_no_input()) return;
  write_line(options_.json_errors ? as_json(remark, "warning") : as_text(tool_, remark, "warning"));
}

void Messages::remark(const Finding& finding, const std::string& path) const {
  if (options_.quiet) return;
  const Error remark = with_path(finding, path);
  const std::string_view severity = severity_name(finding.severity);
  write_line(options_.json_errors ? as_json(remark, severity) : as_text(tool_, remark, severity));
}

int Messages::broken_rules(const Findings& findings, const std::string& path) const {
  int status = exit_ok;
  if (const Finding* broken = first_container_error(findings)) status = error(with_path(*broken, path));
  for (const Finding& remark : findings) {
    const bool is_shown = options_.verbosity > 0 || remark.leads;
    if (is_shown && remark.severity == Severity::warning) warning(with_path(remark, path));
  }
  return status;
}

void show_output_remarks(const Command& command) {
  set_output_remarks(
      [messages = Messages(command)](const std::string& path, const char* code, const std::string& text) {
        Finding finding;
        finding.severity = Severity::warning;
        finding.code = code;
        finding.message = text;
        messages.remark(finding, path);
      });
}

void show_network_notes(const Command& command) {
  static std::optional<Messages> messages;
  messages.emplace(command);
  remote_settings().on_note = [](const std::string& file, const std::string& text) {
    messages->warning(Error{.code = "remote-network", .message = text, .file = file});
  };
}

void show_log(const std::string& tool, const CommonOptions& options) {
  if (options.verbosity == 0 || options.quiet) return;
  const bool is_debug = options.verbosity > 1;
  const auto logger = std::make_shared<spdlog::logger>(tool, std::make_shared<spdlog::sinks::stderr_sink_mt>());
  logger->set_pattern("%n: %v");
  logger->set_level(spdlog::level::debug);
  set_log(is_debug ? LogLevel::debug : LogLevel::info, [logger](LogLevel level, std::string_view text) {
    logger->log(level == LogLevel::debug ? spdlog::level::debug : spdlog::level::info, "{}", escape(text));
  });
}

}  // namespace modelutils::cli

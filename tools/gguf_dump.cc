// gguf-dump: what is inside a GGUF model?
#include <algorithm>

#include "cli/gguf_dump_options.h"
#include "io/standard_output.h"
#include "verify/gguf_rules.h"

namespace {

using namespace modelutils;

// What keeps a loader from taking the parts for one model, but nobody from listing them; the first, with -v all.
void warn_of_parts(const gguf::SplitSet& set, const std::string& path, const cli::Command& command) {
  for (const Finding& finding : set.findings) {
    if (finding.severity != Severity::error || finding.scope != Scope::model) continue;
    cli::Messages(command).warning(to_error(finding, path));
    if (command.common().verbosity == 0) return;
  }
}

// Shows one model as far as it can be read; its exit status.
int dump(const std::string& path, const GgufDumpOptions& options, bool first, const cli::Command& command,
         TextOutput& out) {
  const cli::Messages messages(command);
  const Result<gguf::SplitSet> set = gguf::open_set(path);
  if (!set) return messages.error(in_file(set.error(), path));
  const Findings findings = gguf_container_findings(*set);
  const Status done = dump_gguf(*set, path, options, first, out);
  // What could be listed stands before the error.
  if (const Status written = out.flush(); !written) return messages.error(written.error());
  if (out.closed()) return cli::exit_ok;
  warn_of_parts(*set, path, command);
  int status = done ? cli::exit_ok : messages.error(in_file(done.error(), path));
  for (const Error& error : globs_without_match(*set, path, options)) status = std::max(status, messages.error(error));
  return std::max(status, messages.broken_rules(findings, path));
}

int run(int argc, char** argv) {
  cli::GgufDumpArguments arguments;
  cli::Command command = cli::gguf_dump_command(arguments);
  if (const auto status = command.parse(argc, argv)) return *status;
  const Result<GgufDumpOptions> options = cli::dump_options(arguments, command.common());
  if (!options) return cli::Messages(command).error(options.error());

  const Status safe = compare_inputs(arguments.paths, [](const std::string& path) { (void)gguf::open_set(path); });
  if (!safe) return cli::Messages(command).error(safe.error());
  TextOutput out;
  int status = cli::exit_ok;
  for (std::size_t i = 0; i < arguments.paths.size() && !out.closed() && status != cli::exit_output; ++i) {
    status = std::max(status, dump(arguments.paths[i], *options, i == 0, command, out));
  }
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("gguf-dump", [&] { return run(argc, argv); });
}

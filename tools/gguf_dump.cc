// gguf-dump: what is inside a GGUF model?
#include <algorithm>

#include "cli/gguf_dump_options.h"
#include "io/standard_output.h"
#include "report/gguf_selection.h"
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

class Dump {
 public:
  Dump(const GgufDumpOptions& options, const cli::Command& command)
      : options_(options),
        command_(command),
        messages_(command),
        keys_("--keys", "key", options.key_globs),
        tensors_("--tensors", "tensor", options.tensor_globs) {}

  // Shows one model as far as it can be read; its exit status.
  int show(const std::string& path, bool first, TextOutput& out) {
    const Result<gguf::SplitSet> set = gguf::open_set(path);
    if (!set) return fail(in_file(set.error(), path));
    const Findings findings = gguf_container_findings(*set);
    const Status done = dump_gguf(*set, path, options_, first, out);
    keys_.look_at(each_key_name(*set));
    tensors_.look_at(each_tensor_name(*set));
    // What could be listed stands before the error.
    if (const Status written = out.flush(); !written) return messages_.error(written.error());
    if (out.closed()) return cli::exit_ok;
    warn_of_parts(*set, path, command_);
    int status = done ? cli::exit_ok : messages_.error(in_file(done.error(), path));
    status = std::max(status, messages_.broken_rules(findings, path));
    all_is_read_ = all_is_read_ && status != cli::exit_input;
    return status;
  }

  // After the last model: what was to be selected and is in none of them; in one that could not be read it may be.
  int say_what_was_not_found(const std::string& path) const {
    int status = cli::exit_ok;
    if (!all_is_read_) return status;
    for (const GlobUse* globs : {&keys_, &tensors_}) {
      for (const Error& error : globs->unused(path)) status = std::max(status, messages_.error(error));
    }
    return status;
  }

 private:
  int fail(const Error& error) {
    all_is_read_ = false;
    return messages_.error(error);
  }

  const GgufDumpOptions& options_;
  const cli::Command& command_;
  cli::Messages messages_;
  GlobUse keys_;
  GlobUse tensors_;
  bool all_is_read_ = true;
};

int run(int argc, char** argv) {
  cli::GgufDumpArguments arguments;
  cli::Command command = cli::gguf_dump_command(arguments);
  if (const auto status = command.parse(argc, argv)) return *status;
  const Result<GgufDumpOptions> options = cli::dump_options(arguments, command.common());
  if (!options) return cli::Messages(command).error(options.error());

  const Status safe = compare_inputs(arguments.paths, [](const std::string& path) { (void)gguf::open_set(path); });
  if (!safe) return cli::Messages(command).error(safe.error());
  TextOutput out;
  Dump dump(*options, command);
  int status = cli::exit_ok;
  for (std::size_t i = 0; i < arguments.paths.size() && !out.closed() && status != cli::exit_output; ++i) {
    status = std::max(status, dump.show(arguments.paths[i], i == 0, out));
  }
  if (out.closed() || status == cli::exit_output) return status;
  return std::max(status, dump.say_what_was_not_found(options->several ? std::string() : arguments.paths.front()));
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("gguf-dump", [&] { return run(argc, argv); });
}

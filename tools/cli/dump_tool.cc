#include "cli/dump_tool.h"

#include <algorithm>
#include <span>

#include "base/not_found.h"
#include "base/os/files.h"
#include "cli/pager.h"
#include "io/fetch_helper.h"
#include "io/remote_address.h"
#include "io/standard_output.h"
#include "report/html/model_page.h"

namespace modelutils::cli {

namespace {

bool stdin_is_seekable() {
  return os::position(os::standard_input).has_value();
}

class Dumper {
 public:
  Dumper(const Command& command, const DumpRequest& request, const PageOutput& page, const Open& open)
      : command_(command),
        messages_(command),
        request_(request),
        page_(page),
        open_(open),
        keys_("--keys", "key", request.select.key_globs),
        tensors_("--tensors", "tensor", request.select.tensor_globs) {}

  // Prints one model as far as it can be read. Returns its exit status.
  int show(TextOutput& out, const std::string& path) {
    if (request_.statistics && path == "-" && !stdin_is_seekable()) {
      all_is_read_ = false;
      return messages_.error(statistics_of_pipe());
    }
    Result<Opened> opened = open_(path, request_);
    // After a failure of the server, report that instead of a missing part.
    if (auto failure = is_address(path) ? take_remote_failure() : std::nullopt) {
      opened = tl::make_unexpected(std::move(*failure));
    }
    if (!opened) {
      all_is_read_ = false;
      return messages_.error(in_file(std::move(opened.error()), path));
    }
    if (!opened->instead.empty()) {
      out << opened->instead;
      const Status written = out.flush();
      return written ? exit_ok : messages_.error(written.error());
    }
    const Status done = show_opened(out, *opened, path);
    keys_.look_at([&](const auto& visit) { opened->source->each_key_name(request_.select.config_keys, visit); });
    tensors_.look_at([&](const auto& visit) { opened->source->each_tensor_name(visit); });
    request_.options.first = false;
    // Print the listing before the errors.
    if (const Status written = out.flush(); !written) return messages_.error(written.error());
    if (out.closed() || was_page_closed(done)) return exit_ok;
    warn(opened->warnings);
    int status = done ? exit_ok : messages_.error(in_file(done.error(), path));
    if (lacks_memory_) status = std::max(status, exit_findings);
    if (opened->error) status = std::max(status, messages_.error(*opened->error));
    status = std::max(status, messages_.broken_rules(opened->findings, path));
    all_is_read_ = all_is_read_ && status != exit_input;
    return status;
  }

  // Reports, after the last model, patterns that matched nothing. Skipped if a model could not be read, as it might
  // contain a match.
  int say_what_was_not_found(const std::string& path) const {
    int status = exit_ok;
    if (!all_is_read_) return status;
    for (const GlobUse* globs : {&keys_, &tensors_}) {
      for (const Error& error : globs->unused(path)) status = std::max(status, messages_.error(error));
    }
    return status;
  }

 private:
  Status show_opened(TextOutput& out, const Opened& opened, const std::string& path) {
    if (page_.path) return write_model(opened, path);
    if (request_.fit) return fit(out, opened, path);
    if (request_.prompt) return render(out, opened, path);
    if (!request_.tokens) return dump_model(out, *opened.source, path, request_);
    MU_ASSIGN(tokenizer::EncodeKeys keys, opened.tokenizer());
    return dump_tokens(out, std::move(keys), path, request_);
  }

  Status render(TextOutput& out, const Opened& opened, const std::string& path) {
    MU_ASSIGN(const ChatSource chat, opened.chat(request_.template_name));
    return dump_prompt(out, chat, opened.tokenizer, path, request_);
  }

  Status fit(TextOutput& out, const Opened& opened, const std::string& path) {
    MU_ASSIGN(const memory::FitReport report, opened.fit(*request_.fit));
    dump_fit(out, report, path, request_);
    lacks_memory_ = std::ranges::any_of(report.contexts, [](const auto& context) { return context.fits == false; });
    return {};
  }

  // Writes the HTML page.
  Status write_model(const Opened& opened, const std::string& path) {
    const auto fit = [&](const memory::FitRequest& wanted) -> Result<memory::FitReport> {
      MU_ASSIGN(memory::FitReport report, opened.fit(wanted));
      // Without --context, only the last context, the model's training length, counts; the others are for the chart.
      std::span<const memory::ContextFit> asked(report.contexts);
      if (request_.fit->contexts.empty()) asked = asked.last(1);
      lacks_memory_ = std::ranges::any_of(asked, [](const auto& context) { return context.fits == false; });
      return report;
    };
    return write_page(page_, [&](HtmlPage& page) {
      return write_model_page(
          page, {command_.name(), path, *opened.source, opened.findings, fit, opened.tokenizer, opened.chat}, request_);
    });
  }

  void warn(const std::vector<Error>& warnings) const {
    for (const Error& warning : warnings) {
      messages_.warning(warning);
      if (command_.common().verbosity == 0) return;
    }
  }

  const Command& command_;
  Messages messages_;
  DumpRequest request_;
  const PageOutput& page_;
  const Open& open_;
  GlobUse keys_;
  GlobUse tensors_;
  bool all_is_read_ = true;
  bool lacks_memory_ = false;  // the model shown last does not fit, in at least one context
};

}  // namespace

int run_dumper(Command command, const DumpArguments& arguments, const Open& open, int argc, char** argv) {
  if (const auto status = command.parse(argc, argv)) return *status;
  const Result<DumpRequest> request = dump_request(arguments, command.common());
  if (!request) return Messages(command).error(request.error());
  const Status safe = compare_inputs(arguments.paths, [&](const std::string& path) { (void)open(path, *request); });
  if (!safe) return Messages(command).error(safe.error());

  if (!request->prompt && !arguments.page.path) start_pager(command.common().pager);
  TextOutput out;
  Dumper dumper(command, *request, arguments.page, open);
  int status = exit_ok;
  for (const std::string& path : arguments.paths) {
    if (out.closed() || status == exit_output) break;
    status = std::max(status, dumper.show(out, path));
  }
  if (out.closed() || status == exit_output) return status;
  return std::max(status, dumper.say_what_was_not_found(request->options.several ? "" : arguments.paths.front()));
}

}  // namespace modelutils::cli

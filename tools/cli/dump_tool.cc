#include "cli/dump_tool.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <span>

#include "base/escape.h"
#include "base/not_found.h"
#include "base/os/files.h"
#include "base/text.h"
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

// Tracks, across several models, which of --type and --larger-than have selected a tensor so far.
class TypeUse {
 public:
  explicit TypeUse(const ListingRequest& select) : select_(select), is_matched_(select.types.size()) {}

  void look_at(ListingSource& source) {
    if (select_.types.empty() && !select_.larger_than) return;
    ListingRequest wanted = select_;
    wanted.token_texts = wanted.config_keys = wanted.zero_points = false;
    const Listing listing = source.list(wanted);
    selected_ += listing.tensors.size();
    for (const TypeTotal& type : listing.facts.types) {
      known_.insert(escape(type.name));
      for (std::size_t i = 0; i < is_matched_.size(); ++i) {
        if (is_type_named(type.name, select_.types[i])) is_matched_[i] = true;
      }
    }
  }

  // Returns an error ("glob-no-match") for each type without a tensor, or one if no tensor meets all conditions.
  std::vector<Error> unused(const std::string& path) const {
    std::vector<Error> errors;
    for (std::size_t i = 0; i < is_matched_.size(); ++i) {
      if (is_matched_[i]) continue;
      const std::vector<std::string> known(known_.begin(), known_.end());
      errors.push_back(no_match_error(fmt::format("--type '{}'", select_.types[i]),
                                      "matches no tensor; the types are " + joined(known), path)
                           .value());
    }
    if (!errors.empty() || selected_ > 0 || (select_.types.empty() && !select_.larger_than)) return errors;
    errors.push_back(select_.larger_than
                         ? no_match_error("--larger-than",
                                          "no selected tensor has more than " + byte_text(*select_.larger_than), path)
                               .value()
                         : no_match_error("--type", "no tensor has both the name and the type", path).value());
    return errors;
  }

 private:
  ListingRequest select_;
  std::vector<bool> is_matched_;
  std::set<std::string> known_;
  u64 selected_ = 0;
};

class Dumper {
 public:
  Dumper(const Command& command, const DumpRequest& request, const PageOutput& page, const Open& open)
      : command_(command),
        messages_(command),
        request_(request),
        page_(page),
        open_(open),
        progress_("reading", 0, use_progress(command.common())),
        keys_("--keys", "key", request.select.key_globs),
        tensors_("--tensors", "tensor", request.select.tensor_patterns, pattern_selects),
        types_(request.select) {
    request_.progress = &progress_;
  }

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
    if (opened->instead || !opened->paths.empty()) {
      if (opened->instead) opened->instead(out);
      if (const Status written = out.flush(); !written) return messages_.error(written.error());
      int status = show_all(out, opened->paths, path);
      for (const Error& error : opened->errors) status = std::max(status, messages_.error(error));
      return status;
    }
    const Status done = show_opened(out, *opened, path);
    keys_.look_at([&](const auto& visit) { opened->source->each_key_name(request_.select.config_keys, visit); });
    tensors_.look_at([&](const auto& visit) { opened->source->each_tensor_name(visit); });
    types_.look_at(*opened->source);
    request_.options.first = false;
    // Print the listing before the errors.
    if (const Status written = out.flush(); !written) return messages_.error(written.error());
    if (out.closed() || was_page_closed(done)) return exit_ok;
    warn(opened->warnings);
    int status = done ? exit_ok : messages_.error(in_file(done.error(), path));
    if (lacks_memory_) status = std::max(status, exit_findings);
    for (const Error& error : opened->errors) status = std::max(status, messages_.error(error));
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
    if (status != exit_ok) return status;
    for (const Error& error : types_.unused(path)) status = std::max(status, messages_.error(error));
    return status;
  }

 private:
  // Shows the models of a folder.
  int show_all(TextOutput& out, const std::vector<std::string>& paths, const std::string& folder) {
    if (page_.path && paths.size() > 1) {
      return messages_.error(with_path(usage_error("--html takes one model").value(), folder));
    }
    request_.options.several = request_.options.several || paths.size() > 1;
    int status = exit_ok;
    for (const std::string& path : paths) {
      if (out.closed() || status == exit_output) break;
      status = std::max(status, show(out, path));
    }
    return status;
  }

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
  Progress progress_;
  GlobUse keys_;
  GlobUse tensors_;
  TypeUse types_;
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

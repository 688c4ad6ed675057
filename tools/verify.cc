// verify: checks that a model file and its data are valid, match a manifest, and match the source of a conversion.
#include "verify/verify.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <mutex>

#include "base/escape.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/pager.h"
#include "cli/verify_options.h"
#include "io/standard_output.h"
#include "report/bill_of_materials.h"
#include "report/finding_pages.h"
#include "report/verify_forms.h"
#include "report/verify_text.h"
#include "tools.h"

namespace {

using namespace modelutils;

constexpr u64 max_jobs = 1024;  // more than any machine can use

int explain(const std::string& code, const cli::Messages& messages) {
  const Result<std::string> page = explained_finding(code);
  if (!page) return messages.error(page.error());
  TextOutput out;
  out << *page;
  const Status written = out.flush();
  return written ? cli::exit_ok : messages.error(written.error());
}

// Loads a policy and rejects unknown finding codes in it.
Result<Policy> policy_of(const std::string& path) {
  MU_ASSIGN(Policy policy, load_policy(path));
  for (const auto& [code, severity] : policy.severities) {
    if (page_of_finding(code)) continue;
    return input_error("policy-member", "is not a finding code; docs/findings.md lists them", "severity." + code, {},
                       path);
  }
  return policy;
}

// Applies the options that determine how findings are judged.
Status apply_judges(const cli::VerifyArguments& options, VerifyOptions& verify) {
  if (options.policy) {
    MU_ASSIGN(verify.policy, policy_of(*options.policy));
  }
  if (options.signature) verify.signature = {*options.signature, options.key, options.certificate};
  if (!options.signature && (options.key || options.certificate)) {
    return usage_error("--key and --certificate need --signature");
  }
  if (options.sbom && (options.hash || options.format || options.json)) {
    return usage_error("--sbom cannot be combined with --hash, --json or --format");
  }
  verify.identity = options.sbom.has_value();
  return {};
}

}  // namespace

int modelutils::cli::verify(int argc, char** argv) {
  cli::VerifyArguments options;
  cli::Command command = cli::verify_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  cli::start_pager(command.common().pager);
  const cli::Messages messages(command);

  if (options.explain) return explain(*options.explain, messages);
  if (const Status judged = apply_judges(options, options.verify); !judged) return messages.error(judged.error());
  const std::unique_ptr<VerifyForm> form = options.sbom ? make_bill_of_materials(*options.sbom)
                                                        : make_verify_form(options.format.value_or(""), options.strict);
  if (form && options.hash)
    return messages.error(
        usage_error("--hash prints a manifest; the only --format it can be combined with is sums").value());

  // A manifest is the only output on standard output; findings then go to standard error.
  TextOutput results;
  TextOutput remarks(2);
  TextOutput& text = options.hash ? remarks : results;
  VerifyText for_people({!options.hash && cli::use_color(command.common()), command.common().quiet, options.strict,
                         command.common().verbosity > 0,
                         !options.hash && cli::stdout_is_terminal() ? cli::terminal_width(80) : 0});
  Progress progress("reading", 0, cli::use_progress(command.common()));
  options.verify.progress = &progress;
  options.json = options.json || options.format == "json";
  options.verify.sums = options.format == "sums";
  if (options.jobs) options.verify.threads = static_cast<unsigned>(std::min<u64>(*options.jobs, max_jobs));
  if (options.follow_links) options.verify.links = OutsideLinks::follow;
  if (options.hash) options.verify.hash = hash_from_name(*options.hash);
  options.verify.manifest_line = [&](std::string_view line) { return !(results << line).closed(); };

  std::mutex mutex;
  options.verify.before_download = [&](const std::string& path, u64 bytes) {
    if (command.common().quiet) return;
    const std::lock_guard lock(mutex);
    fmt::print(stderr, "verify: {}: reads {}\n", escape(path), byte_text(bytes));
  };

  int status = cli::exit_ok;
  const Status done = verify_paths(options.paths, options.verify, [&](const VerifyReport& report) {
    progress.finish();
    if (!report.unreadable) log_info("{}", verify_summary(report));
    if (report.unreadable) status = std::max(status, messages.error(*report.unreadable));
    if (report.is_bad(options.strict)) status = std::max(status, cli::exit_findings);
    if (options.json) {
      results << verify_json(report, options.strict);
    } else if (form) {
      results << form->add(report);
    } else {
      text << for_people.add(report);
    }
    // Flush after every path, so that a reader sees each result at once and an interrupt loses none. Write errors are
    // reported at the end.
    (void)results.flush();
    (void)text.flush();
  });
  if (!done) return std::max(status, messages.error(done.error()));  // nothing was written
  if (form) results << form->finish();
  text << (form ? std::string() : for_people.finish());
  (void)text.flush();
  if (Status written = results.flush(); !written) status = std::max(status, messages.error(written.error()));
  return status;
}

// modelutils link: makes a model visible to another program without copying it.
#include <fmt/core.h>

#include <algorithm>

#include "base/escape.h"
#include "base/os/files.h"
#include "cli/link_options.h"
#include "io/output_place.h"
#include "io/standard_output.h"
#include "store/link.h"
#include "tools.h"

namespace {

using namespace modelutils;

std::optional<LinkWay> way_named(const std::string& name) {
  if (name.empty()) return std::nullopt;
  return name == "reflink" ? LinkWay::reflink : name == "hard" ? LinkWay::hard : LinkWay::symlink;
}

Finding remark(std::string code, std::string message) {
  Finding finding;
  finding.severity = Severity::warning;
  finding.code = std::move(code);
  finding.message = std::move(message);
  return finding;
}

std::string links_text(const std::vector<MadeLink>& links, bool is_plan, const std::string& how) {
  std::string text;
  for (const MadeLink& link : links) {
    if (link.was_there) {
      text += fmt::format("{}  (is there already)\n", escape(link.to));
      continue;
    }
    const std::string way =
        is_plan ? "would be a " + (how.empty() ? std::string("link") : how) : std::string(link_way_name(link.way));
    text += fmt::format("{}  ({} to {})\n", escape(link.to), way, escape(link.from));
  }
  return text;
}

// Warns if programs of the target may delete the links or the linked files.
void warn(const cli::Messages& messages, const LinkTarget& target, const std::vector<MadeLink>& links) {
  if (links.empty() || !target.store) return;
  const std::string& path = links.front().to;
  const bool has_symlinks =
      std::ranges::any_of(links, [](const MadeLink& link) { return !link.was_there && link.way == LinkWay::symlink; });
  if (*target.store == StoreKind::ollama) {
    messages.remark(remark("link-pruned",
                           "is deleted by 'ollama serve' at its next start, unless 'ollama create NAME -f Modelfile' "
                           "has used it before"),
                    path);
  } else if (*target.store == StoreKind::llama_cpp && has_symlinks) {
    messages.remark(remark("link-symlink",
                           "is a symbolic link: 'hf cache rm' would delete the file that it leads to; delete the link "
                           "itself instead"),
                    path);
  }
}

Status run(const cli::LinkArguments& options, const cli::Command& command) {
  if (options.to.empty()) return usage_error("--to is missing: lmstudio, llama.cpp, ollama or a folder");
  LinkRequest request{.target = link_target(options.to), .as = options.as, .progress = nullptr};
  if (!request.target.store) MU_TRY(refuse_output_in_cache(request.target.folder + "/model"));
  MU_ASSIGN(const LinkSource source, link_source(options.name));
  Progress progress("hashing", 0, cli::use_progress(command.common()));
  request.progress = &progress;
  auto plan = plan_link(source, request);
  progress.finish();
  if (!plan && plan.error().kind == ErrorKind::usage) return tl::make_unexpected(std::move(plan.error()));
  if (!plan) return tl::make_unexpected(in_file(std::move(plan.error()), source.path));
  MU_ASSIGN(const std::vector<MadeLink> links,
            options.dry_run ? check_links(*plan) : make_links(*plan, way_named(options.how)));
  const bool has_modelfile = !plan->modelfile.empty();
  if (!has_modelfile || !command.common().quiet) {
    TextOutput out(has_modelfile ? os::standard_error : os::standard_output);
    out << links_text(links, options.dry_run, options.how);
    MU_TRY(out.flush());
  }
  if (!options.dry_run) warn(cli::Messages(command), request.target, links);
  TextOutput out;
  out << plan->modelfile;
  return out.flush();
}

}  // namespace

int modelutils::cli::link_model(int argc, char** argv) {
  LinkArguments options;
  Command command = link_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const Status done = run(options, command);
  if (done) return exit_ok;
  const bool is_usage = done.error().kind == ErrorKind::usage;
  return Messages(command).error(is_usage ? done.error() : in_file(done.error(), options.name));
}

// modelutils ls: lists the models of all stores, and equal files among them.
#include <algorithm>
#include <ctime>

#include "base/os/files.h"
#include "base/os/sharing.h"
#include "base/parallel.h"
#include "cli/ls_options.h"
#include "cli/pager.h"
#include "io/standard_output.h"
#include "report/store_report.h"
#include "store/store_list.h"
#include "tools.h"

namespace {

using namespace modelutils;

StoreSort sort_named(const std::string& name) {
  if (name == "size") return StoreSort::size;
  if (name == "parameters") return StoreSort::parameters;
  return name == "used" ? StoreSort::used : StoreSort::name;
}

void tell(const cli::Messages& messages, const std::vector<StoreNote>& notes) {
  for (const StoreNote& note : notes) {
    Finding finding;
    finding.severity = Severity::note;
    finding.code = "store-skipped";
    finding.message = note.text;
    messages.remark(finding, note.path);
  }
}

int finish_output(TextOutput& out, int status, const cli::Messages& messages) {
  const Status written = out.flush();
  return written ? status : std::max(status, messages.error(written.error()));
}

}  // namespace

int modelutils::cli::ls(int argc, char** argv) {
  LsArguments options;
  Command command = ls_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const Messages messages(command);
  if (options.hash && !options.duplicates) return messages.error(usage_error("--hash needs --duplicates").value());
  os::keep_access_times();
  TextOutput out;
  if (options.names) {
    for (const std::string& name : store_model_names()) out << name << "\n";
    return finish_output(out, exit_ok, messages);
  }
  start_pager(command.common().pager);
  StoreRequest& request = options.request;
  request.sort = sort_named(options.sort);
  request.now = static_cast<i64>(std::time(nullptr)) * 1'000'000'000;
  request.threads = default_threads();
  const StoreList list = list_stores(request);
  int status = exit_ok;
  for (const Error& error : list.errors) status = std::max(status, messages.error(error));
  tell(messages, list.notes);
  if (options.duplicates) {
    Progress progress("reading", 0, use_progress(command.common()));
    Duplicates duplicates = find_duplicates(list, options.hash.has_value(), request.threads, &progress);
    progress.finish();
    tell(messages, duplicates.notes);
    duplicates.notes.insert(duplicates.notes.begin(), list.notes.begin(), list.notes.end());
    if (options.json)
      out << duplicates_json(duplicates);
    else
      write_duplicates(out, duplicates);
    return finish_output(out, status, messages);
  }
  if (options.json)
    out << store_list_json(list);
  else
    write_store_list(out, list, terminal_width(), Style(use_color(command.common())));
  status = finish_output(out, status, messages);
  for (const StoredModel& model : list.models) {
    if (model.problem.empty() || command.common().verbosity == 0) continue;
    Finding finding;
    finding.severity = Severity::note;
    finding.code = "store-incomplete";
    finding.message = model.problem;
    messages.remark(finding, model.described.line.path);
  }
  return status;
}

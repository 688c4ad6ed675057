// model-diff: shows the differences between two models of any format.
#include <fmt/core.h>

#include <algorithm>

#include "base/os/files.h"
#include "base/path.h"
#include "cli/model_diff_options.h"
#include "cli/pager.h"
#include "compare/extract_adapter.h"
#include "convert/to_gguf/image_source.h"
#include "formats/bump/document.h"
#include "io/fetch_helper.h"
#include "io/remote_address.h"
#include "io/standard_output.h"
#include "report/html/model_page.h"
#include "report/tool_reports.h"
#include "rules/gguf/rules.h"
#include "rules/safetensors/rules.h"
#include "tools.h"

namespace {

using namespace modelutils;

// `other` is the model to compare with. If it is a folder, the message may suggest a file of the same name in it.
Result<Model> open_side(const std::string& given, const std::string& other) {
  MU_ASSIGN(const std::string path, to_gguf::without_pipeline(given, OutsideLinks::warn));
  MU_ASSIGN(PathProbe probe, probe_path(path, OutsideLinks::warn));
  const std::string same = path_in(path, base_name_of(other));
  if (!probe.format && probe.is_directory && os::status(same)) {
    return input_error("verify-unknown-format", fmt::format("is a directory: name the file in it, '{}'", same));
  }
  if (!probe.format) return tl::make_unexpected(unknown_format(probe));
  auto model = open_model(std::move(probe));
  // After a failure of the server, report that instead of a missing part.
  if (auto failure = is_address(path) ? take_remote_failure() : std::nullopt) {
    return tl::make_unexpected(std::move(*failure));
  }
  return model;
}

// Returns the container findings of a model. Despite errors, a model is compared as far as it can be listed.
Findings container_findings(const Model& model) {
  if (model.gguf) return gguf_container_findings(*model.gguf);
  if (model.safetensors) return safetensors_container_findings(model.safetensors->set);
  if (model.bump5) return model.bump5->document.findings.findings();
  if (!model.bump) return {};
  Findings findings = model.bump->document.findings.findings();
  if (const auto strict = bump::parse(*model.bump->file); !strict) findings.push_back(without_path(strict.error()));
  return findings;
}

Status show(TextOutput& out, const ModelDiff& diff, const cli::ModelDiffArguments& arguments,
            const cli::CommonOptions& common) {
  DiffOptions options;
  options.style = Style(cli::use_color(common));
  options.width = cli::terminal_width();
  options.top = arguments.top.value_or(options.top);
  if (arguments.page.path) {
    return cli::write_page(arguments.page, [&](HtmlPage& page) { return write_diff_page(page, diff, "model-diff"); });
  }
  if (arguments.json) return write_diff_json(out, diff);
  if (arguments.csv) return write_diff_csv(out, diff);
  if (arguments.markdown) return write_diff_markdown(out, diff, options);
  if (!arguments.brief) return write_diff_text(out, diff, options);
  write_diff_brief(out, diff);
  return {};
}

// Handles --extract-lora: writes an adapter instead of comparing.
int extract(const cli::ModelDiffArguments& arguments, const cli::CommonOptions& common, const cli::Messages& messages) {
  ExtractOptions options;
  options.base = arguments.a;
  options.finetune = arguments.b;
  options.output = arguments.output;
  options.rank = *arguments.extract_rank;
  options.ignored_tensors = arguments.compare.ignored_tensors;
  options.force = arguments.force;
  Progress progress("comparing", 0, cli::use_progress(common));
  const auto report = extract_adapter(options, progress);
  progress.finish();
  if (!report) return messages.error(report.error());
  for (const Finding& remark : report->remarks.findings()) messages.remark(remark, arguments.b);
  TextOutput out;
  out << (arguments.json ? extract_json(*report) : extract_text(*report));
  if (const Status written = out.flush(); !written) return messages.error(written.error());
  return cli::exit_ok;
}

}  // namespace

int modelutils::cli::model_diff(int argc, char** argv) {
  cli::ModelDiffArguments arguments;
  cli::Command command = cli::model_diff_command(arguments);
  if (const auto status = command.parse(argc, argv)) return *status;
  if (!arguments.page.path) cli::start_pager(command.common().pager);
  const cli::Messages messages(command);
  if (const Status done = cli::finish(arguments); !done) return messages.error(done.error());
  if (arguments.extract_rank) return extract(arguments, command.common(), messages);
  const std::vector<std::string> paths = {arguments.a, arguments.b};

  std::vector<Model> models;
  std::vector<Findings> findings;
  int status = cli::exit_ok;
  for (const std::string& path : paths) {
    Result<Model> model = open_side(path, path == arguments.a ? arguments.b : arguments.a);
    if (!model) {
      status = std::max(status, messages.error(in_file(std::move(model.error()), path)));
      continue;
    }
    findings.push_back(container_findings(*model));
    models.push_back(std::move(*model));
  }
  if (models.size() < paths.size()) return status;

  Progress progress("comparing", 0, cli::use_progress(command.common()));
  arguments.compare.progress = &progress;
  const auto diff = compare_models(std::move(models[0]), std::move(models[1]), arguments.compare);
  progress.finish();
  if (!diff) return messages.error(diff.error());
  TextOutput out;
  const Status shown = show(out, **diff, arguments, command.common());
  if (const Status written = out.flush(); !written) return messages.error(written.error());
  if (out.closed() || cli::was_page_closed(shown)) return cli::exit_ok;
  if (const auto left_out = (*diff)->values_left_out(); left_out && !arguments.compare.quick) {
    messages.remark(*left_out, arguments.b);
  }
  // Print the comparison before the errors.
  if (!shown) status = std::max(status, messages.error(shown.error()));
  for (std::size_t i = 0; i < paths.size(); ++i) {
    status = std::max(status, messages.broken_rules(findings[i], paths[i]));
    for (const Error& error : (i == 0 ? (*diff)->a : (*diff)->b).broken) {
      status = std::max(status, messages.error(in_file(error, paths[i])));
    }
  }
  if (const Error* error = (*diff)->read_error()) status = std::max(status, messages.error(*error));
  return std::max(status, (*diff)->equal() ? cli::exit_ok : cli::exit_findings);
}

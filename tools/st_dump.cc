// st-dump: what is in a safetensors file, a sharded model or an MLX directory?
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.h"
#include "cli/st_dump_options.h"
#include "io/text_output.h"
#include "model/model_view.h"
#include "model/safetensors_model.h"
#include "report/st_get.h"
#include "report/st_json.h"
#include "report/st_selection.h"
#include "report/st_text.h"
#include "report/values.h"
#include "verify/safetensors_rules.h"

namespace {

using namespace modelutils;

// What more than one of the forms of output were asked for.
std::optional<Error> conflict(const cli::StDumpArguments& options) {
  const int forms = static_cast<int>(options.csv) + static_cast<int>(options.jsonl) +
                    static_cast<int>(options.get.has_value()) + static_cast<int>(options.values.has_value()) +
                    static_cast<int>(options.stats) + static_cast<int>(options.list.has_value());
  if (forms > 1) return usage_error("--get, --values, --stats, --list, --csv and --jsonl exclude each other").value();
  if ((options.raw || options.count) && !options.values)
    return usage_error("--raw and --count go with --values").value();
  return std::nullopt;
}

Status write_data(TextOutput& out, SafetensorsModel model, const std::vector<u32>& selected,
                  const cli::StDumpArguments& options) {
  std::vector<std::string> names;
  for (const u32 place : selected) names.emplace_back(model.set.tensor(model.set.tensors[place]).name);
  const std::string path = model.set.path;
  const ModelView view = ModelView::of_safetensors(path, std::move(model.set), std::move(model.config));
  if (options.values) {
    const ViewTensor* tensor = view.find(*options.values);
    if (tensor == nullptr) {
      return input_error("tensor-not-found",
                         "there is no such tensor whose bytes are all there; --list tensors names them",
                         fmt::format("tensor '{}'", *options.values), {}, path);
    }
    return write_values(out, view, *tensor, {options.count, options.json, options.raw});
  }
  std::vector<const ViewTensor*> tensors;
  for (const std::string& name : names) {
    if (const ViewTensor* tensor = view.find(name)) tensors.push_back(tensor);
  }
  return write_statistics(out, view, tensors, options.json);
}

Status write_value(TextOutput& out, const SafetensorsModel& model, const std::string& key) {
  const std::optional<std::string> value = st_value(model, key);
  if (!value) {
    return input_error("key-not-found",
                       "there is no such key in the metadata or in config.json; --list keys names them",
                       fmt::format("key '{}'", key), {}, model.set.path);
  }
  out << (cli::stdout_is_terminal() ? escape(*value) : *value) << "\n";
  return {};
}

void write_names(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected, bool keys) {
  if (keys) {
    for (const std::string& key : st_keys(model)) out << escape(key) << "\n";
  } else {
    for (const u32 place : selected) out << escape(model.set.tensor(model.set.tensors[place]).name) << "\n";
  }
}

// Shows one path; its exit status.
int dump(TextOutput& out, const std::string& path, const cli::StDumpArguments& options, const cli::Messages& messages,
         bool first) {
  Result<SafetensorsModel> model = open_safetensors_model(path, options.modules);
  if (!model) return messages.error(in_file(std::move(model.error()), path));
  if (model->config_error) messages.warning(*model->config_error);
  const std::vector<u32> selected = select_tensors(*model, options.tensors);
  const Findings findings = safetensors_container_findings(model->set);

  Status done;
  if (options.get) {
    done = write_value(out, *model, *options.get);
  } else if (options.values || options.stats) {
    done = write_data(out, std::move(*model), selected, options);
  } else if (options.list) {
    write_names(out, *model, selected, options.list == "keys");
  } else if (options.csv) {
    write_st_csv(out, *model, selected, first, model->set.files.size() > 1 || options.paths.size() > 1);
  } else if (options.jsonl) {
    write_st_jsonl(out, *model, selected);
  } else if (options.json) {
    write_st_json(out, *model, selected, options.modules);
  } else {
    if (!first) out << "\n";
    if (options.modules) {
      write_st_modules(out, *model, selected);
    } else {
      write_st_text(out, *model, selected);
    }
  }
  int status = cli::exit_ok;
  if (!done) status = messages.error(in_file(std::move(done.error()), path));
  if (const Finding* broken = first_container_error(findings)) {
    (void)out.flush();  // what could be listed stands before the error
    status = std::max(status, messages.error(to_error(*broken, path)));
  }
  return status;
}

int run(int argc, char** argv) {
  cli::StDumpArguments options;
  cli::Command command = cli::st_dump_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);
  if (const auto wrong = conflict(options)) return messages.error(*wrong);

  TextOutput out;
  int status = cli::exit_ok;
  for (std::size_t i = 0; i < options.paths.size() && !out.closed(); ++i) {
    status = std::max(status, dump(out, options.paths[i], options, messages, i == 0));
  }
  if (Status written = out.flush(); !written) status = std::max(status, messages.error(written.error()));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("st-dump", [&] { return run(argc, argv); });
}

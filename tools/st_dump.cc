// st-dump: what is in a safetensors file, a sharded model or an MLX directory?
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.h"
#include "cli/command.h"
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

struct Options {
  std::vector<std::string> paths;
  std::vector<std::string> tensors;
  std::optional<std::string> get;
  std::optional<std::string> values;
  std::optional<u64> count;
  bool json = false;
  bool modules = false;
  bool raw = false;
  bool stats = false;
  bool csv = false;
  bool jsonl = false;
};

void describe(cli::Command& command, Options& options) {
  using cli::ValueKind;
  command.description(
      "A path is a .safetensors file, a model.safetensors.index.json, a directory, or - for standard input, of which "
      "only the header is read. Of an MLX or Hugging Face directory config.json is shown too.");
  command.add_paths({.names = "PATH",
                     .help = "A safetensors file, an index, a model directory, or -",
                     .kind = ValueKind::file,
                     .file_patterns = {"*.safetensors", "*.json"}},
                    options.paths);
  command.add({.names = "--json", .help = "One JSON object for each path (schema st-dump/1)"}, options.json);
  command.add({.names = "--modules", .help = "Every module that owns a weight: logical shape, mode, bits, group size"},
              options.modules);
  command.add({.names = "--tensors",
               .value_name = "GLOB",
               .help = "Only tensors whose name matches; may be given several times",
               .kind = ValueKind::tensor},
              options.tensors);
  command.add({.names = "--get",
               .value_name = "KEY",
               .help = "Print one value of __metadata__ (or, of a directory, of config.json) as it is",
               .kind = ValueKind::key},
              options.get);
  command.add({.names = "--values",
               .value_name = "NAME",
               .help = "Print the values of a tensor, dequantised",
               .kind = ValueKind::tensor},
              options.values);
  command.add({.names = "--count", .value_name = "N", .help = "With --values: at most N", .kind = ValueKind::number},
              options.count);
  command.add({.names = "--raw", .help = "With --values: the stored words as unsigned numbers"}, options.raw);
  command.add({.names = "--stats", .help = "Count, min, max, mean, deviation, zeros, NaN and Inf of each tensor"},
              options.stats);
  command.add({.names = "--csv", .help = "The tensor table as CSV"}, options.csv);
  command.add({.names = "--jsonl", .help = "The tensor table as JSON, one object a line"}, options.jsonl);
  command.example("st-dump model/", "What the model is, its files and its tensors by layer");
  command.example("st-dump --modules model/", "How each module of an MLX model is quantised");
  command.example("st-dump --values lm_head.weight --count 8 model/", "The first eight values, dequantised");
  command.example("curl -s URL | st-dump -", "The header of a file that is not here");
}

// What more than one of the forms of output were asked for.
std::optional<Error> conflict(const Options& options) {
  const int forms = static_cast<int>(options.csv) + static_cast<int>(options.jsonl) +
                    static_cast<int>(options.get.has_value()) + static_cast<int>(options.values.has_value()) +
                    static_cast<int>(options.stats);
  if (forms > 1) return usage_error("--get, --values, --stats, --csv and --jsonl exclude each other").value();
  if ((options.raw || options.count) && !options.values)
    return usage_error("--raw and --count go with --values").value();
  return std::nullopt;
}

Status write_data(TextOutput& out, SafetensorsModel model, const std::vector<u32>& selected, const Options& options) {
  std::vector<std::string> names;
  for (const u32 place : selected) names.emplace_back(model.set.tensor(model.set.tensors[place]).name);
  const std::string path = model.set.path;
  const ModelView view = ModelView::of_safetensors(path, std::move(model.set), std::move(model.config));
  if (options.values) {
    const ViewTensor* tensor = view.find(*options.values);
    if (tensor == nullptr) {
      return input_error("tensor-not-found", "there is no such tensor whose bytes are all there",
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
    return input_error("key-not-found", "there is no such key in the metadata or in config.json",
                       fmt::format("key '{}'", key), {}, model.set.path);
  }
  out << (cli::stdout_is_terminal() ? escape(*value) : *value) << "\n";
  return {};
}

// Shows one path; its exit status.
int dump(TextOutput& out, const std::string& path, const Options& options, const cli::Messages& messages, bool first) {
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
  cli::Command command("st-dump", "Show what is in safetensors files, sharded models and MLX directories");
  Options options;
  describe(command, options);
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

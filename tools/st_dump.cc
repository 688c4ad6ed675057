// st-dump: what is in a safetensors file, a sharded model or an MLX directory?
#include <fmt/format.h>

#include <algorithm>

#include "base/escape.h"
#include "cli/st_dump_options.h"
#include "io/model_folder.h"
#include "io/standard_output.h"
#include "io/text_output.h"
#include "model/model_view.h"
#include "model/safetensors_model.h"
#include "report/not_found.h"
#include "report/st_get.h"
#include "report/st_json.h"
#include "report/st_selection.h"
#include "report/st_text.h"
#include "report/values.h"
#include "verify/safetensors_rules.h"

namespace {

using namespace modelutils;

// Flags that contradict each other.
std::optional<Error> conflict(const cli::StDumpArguments& options) {
  struct Form {
    std::string_view name;
    bool given;
    bool may_be_json = false;
  };
  const Form forms[] = {{"--get", options.get.has_value()},
                        {"--values", options.values.has_value(), true},
                        {"--stats", options.stats, true},
                        {"--list", options.list.has_value()},
                        {"--csv", options.csv},
                        {"--jsonl", options.jsonl},
                        {"--modules", options.modules, true}};
  const Form* chosen = nullptr;
  for (const Form& form : forms) {
    if (!form.given) continue;
    if (chosen != nullptr) {
      return usage_error(fmt::format("{} and {} exclude each other", chosen->name, form.name)).value();
    }
    chosen = &form;
  }
  if (options.json && chosen != nullptr && !chosen->may_be_json) {
    return usage_error(fmt::format("--json and {} exclude each other", chosen->name)).value();
  }
  if ((options.raw || options.count) && !options.values)
    return usage_error("--raw and --count go with --values").value();
  return std::nullopt;
}

// A tensor of the set as it is listed, whose values cannot be read.
ValueSource unreadable(const safetensors::Document& document, const safetensors::Tensor& tensor, bool is_repeated) {
  ValueSource source;
  source.name = tensor.name;
  source.type = tensor.dtype;
  source.shape.assign(tensor.shape.begin(), tensor.shape.end());
  source.problem = is_repeated              ? "the name stands in the model twice: this is not the first"
                   : document.holds(tensor) ? "the tensor's range does not fit its dtype and shape"
                                            : "the tensor's data is not in the file";
  return source;
}

Status write_data(TextOutput& out, SafetensorsModel model, const std::vector<u32>& selected,
                  const cli::StDumpArguments& options) {
  const std::string path = model.set.path;
  const std::string told_path = options.paths.size() > 1 ? path : std::string();
  const ModelView view = ModelView::of_safetensors(path, std::move(model));
  if (options.values) {
    const ViewTensor* tensor = view.find(*options.values);
    if (tensor == nullptr) {
      const auto each_name = [&](const auto& name) {
        for (const ViewTensor& known : view.tensors()) name(known.name);
      };
      return input_error(
          "tensor-not-found",
          "there is no such tensor whose bytes are all there" + name_hint("tensor", *options.values, each_name),
          fmt::format("tensor '{}'", *options.values), {}, path);
    }
    return write_values(out, value_source(view, *tensor), {options.count, options.json, options.raw, told_path});
  }
  const safetensors::ShardSet& set = *view.shards();
  std::vector<ValueSource> tensors;
  for (const u32 place : selected) {
    const safetensors::Tensor& tensor = set.tensor(set.listed(place));
    const bool is_repeated = place >= set.tensors.size();
    const ViewTensor* found = is_repeated ? nullptr : view.find(tensor.name);
    if (found != nullptr && found->name == tensor.name) {
      tensors.push_back(value_source(view, *found));
    } else {
      tensors.push_back(unreadable(set.file(set.listed(place)).document, tensor, is_repeated));
    }
  }
  return write_statistics(out, tensors, {options.json, told_path});
}

Status write_value(TextOutput& out, const SafetensorsModel& model, const std::string& key) {
  const std::optional<std::string> value = st_value(model, key);
  if (!value) {
    const std::vector<std::string> keys = st_keys(model);
    const auto each_name = [&](const auto& name) {
      for (const std::string& known : keys) name(known);
    };
    return input_error("key-not-found",
                       "there is no such key in the metadata or in config.json" + name_hint("key", key, each_name),
                       fmt::format("key '{}'", key), {}, model.set.path);
  }
  out << (cli::stdout_is_terminal() ? escape(*value) : *value) << "\n";
  return {};
}

void write_names(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected, bool keys) {
  if (keys) {
    for (const std::string& key : st_keys(model)) out << escape(key) << "\n";
  } else {
    for (const u32 place : selected) out << escape(model.set.tensor(model.set.listed(place)).name) << "\n";
  }
}

// Shows one path; its exit status.
int dump(TextOutput& out, const std::string& path, const cli::StDumpArguments& options, const cli::Command& command,
         bool first, GlobUse& globs) {
  const cli::Messages messages(command);
  Result<SafetensorsModel> model =
      open_safetensors_model(path, options.modules ? ModulesWanted::all : ModulesWanted::if_quantized);
  if (!model) return messages.error(in_file(std::move(model.error()), path));
  // What a config.json says is of use, not needed; but that it cannot be read at all must not pass for its absence.
  const std::optional<Error> config_error = std::move(model->config_error);
  const bool is_unreadable = config_error && is_read_failure(*config_error) && model->set.is_directory;
  if (config_error && !is_unreadable) messages.warning(*config_error);
  const std::vector<u32> selected = select_tensors(*model, options.tensors);
  globs.look_at(each_tensor_name(*model));
  const Findings findings = safetensors_container_findings(model->set);
  const Style style(cli::use_color(command.common()));
  const bool several = options.paths.size() > 1;
  const StFileColumn always_file = several ? StFileColumn::path : StFileColumn::base_name;

  Status done;
  if (options.get) {
    done = write_value(out, *model, *options.get);
  } else if (options.values || options.stats) {
    done = write_data(out, std::move(*model), selected, options);
  } else if (options.list) {
    write_names(out, *model, selected, options.list == "keys");
  } else if (options.csv) {
    write_st_csv(out, *model, selected, first,
                 several || model->set.files.size() > 1 ? always_file : StFileColumn::none);
  } else if (options.jsonl) {
    write_st_jsonl(out, *model, selected, always_file);
  } else if (options.json) {
    write_st_json(out, *model, selected, options.modules);
  } else {
    if (!first) out << "\n";
    if (options.modules) {
      write_st_modules(out, *model, selected, style);
    } else {
      write_st_text(out, *model, selected, style);
    }
  }
  int status = cli::exit_ok;
  if (!done) status = messages.error(in_file(std::move(done.error()), path));
  (void)out.flush();  // what could be listed stands before the error
  if (is_unreadable) status = std::max(status, messages.error(*config_error));
  return std::max(status, messages.broken_rules(findings, path));
}

int run(int argc, char** argv) {
  cli::StDumpArguments options;
  cli::Command command = cli::st_dump_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);
  if (const auto wrong = conflict(options)) return messages.error(*wrong);

  const Status safe = compare_inputs(options.paths, [&](const std::string& path) {
    (void)open_safetensors_model(path, options.modules ? ModulesWanted::all : ModulesWanted::if_quantized);
  });
  if (!safe) return messages.error(safe.error());
  TextOutput out;
  int status = cli::exit_ok;
  GlobUse globs("--tensors", "tensor", options.tensors);
  for (std::size_t i = 0; i < options.paths.size() && !out.closed() && status != cli::exit_output; ++i) {
    status = std::max(status, dump(out, options.paths[i], options, command, i == 0, globs));
  }
  // What is in none of the models; in one that could not be read it may be.
  if (status < cli::exit_input && !out.closed()) {
    const std::string path = options.paths.size() > 1 ? std::string() : options.paths.front();
    for (const Error& error : globs.unused(path)) status = std::max(status, messages.error(error));
  }
  if (status == cli::exit_output) return status;
  if (Status written = out.flush(); !written) status = std::max(status, messages.error(written.error()));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  return cli::run_tool("st-dump", [&] { return run(argc, argv); });
}

// st-dump: shows the contents of a safetensors file, a sharded model or an MLX directory.
#include <fmt/core.h>

#include "cli/dump_tool.h"
#include "convert/to_gguf/image_source.h"
#include "convert/to_gguf/plan.h"
#include "io/file_kind.h"
#include "io/model_folder.h"
#include "model/download_record.h"
#include "model/listing/listing.h"
#include "model/listing/safetensors_listing.h"
#include "rules/safetensors/rules.h"
#include "tools.h"

namespace {

using namespace modelutils;

// If another tool can list the file, adds the name of that tool to the error.
void say_which_tool(Error& error, const std::string& path) {
  if (error.message.ends_with(file_kind_text(FileKind::gguf))) {
    error.message += ": gguf-dump lists it";
  } else if (error.code == "st-no-model") {
    const std::string file = gguf_in(path), snapshot = snapshot_in(path);
    if (!file.empty()) {
      error.message += fmt::format("; gguf-dump lists its GGUF files, such as '{}'", file);
    } else if (!snapshot.empty()) {
      error.message += fmt::format("; it is a folder of a download cache: the model is in '{}'", snapshot);
    }
  }
}

Result<cli::Opened> open_safetensors_listing(const std::string& given, const DumpRequest& request) {
  MU_ASSIGN(const std::string path,
            to_gguf::without_pipeline(snapshot_file(given).value_or(given), OutsideLinks::warn));
  const auto modules = request.options.modules ? ModulesWanted::all : ModulesWanted::if_quantized;
  auto found = open_safetensors_model(path, modules);
  if (!found) say_which_tool(found.error(), path);
  MU_ASSIGN(SafetensorsModel opened, std::move(found));
  const auto owner = std::make_shared<const Model>(std::move(opened));
  const SafetensorsModel& model = *owner->safetensors;
  cli::Opened result{owner, listing_of(*owner), safetensors_container_findings(model.set), {}, {}};
  result.fit = [path](const memory::FitRequest& wanted) -> Result<memory::FitReport> {
    MU_ASSIGN(const to_gguf::GgufPlan plan, to_gguf::plan_without_vocabulary(path));
    MU_ASSIGN(memory::FitReport report, memory::fit(*plan.target.gguf, wanted));
    report.is_planned = true;
    return report;
  };
  result.source->read_towers = [owner] { return to_gguf::towers_of(*owner); };
  result.tokenizer = [&model] { return directory_tokenizer(model); };
  result.chat = [&model](std::string_view name) { return chat_source(model, name); };
  // The listing does not need config.json, so errors in it are warnings. But a failure to read it must be reported as
  // an error, or the file would seem to be absent.
  if (const std::optional<Error>& error = model.config_error) {
    if (is_read_failure(*error) && model.set.is_directory) {
      result.errors.push_back(*error);
    } else {
      result.warnings.push_back(*error);
    }
  }
  return result;
}

}  // namespace

int modelutils::cli::st_dump(int argc, char** argv) {
  cli::DumpArguments arguments;
  return cli::run_dumper(cli::st_dump_command(arguments), arguments, open_safetensors_listing, argc, argv);
}

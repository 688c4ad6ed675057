// gguf-dump: shows the contents of a GGUF model.
#include <algorithm>

#include "base/os/files.h"
#include "cli/dump_tool.h"
#include "io/file_kind.h"
#include "io/remote_address.h"
#include "model/format.h"
#include "model/listing/listing.h"
#include "model/memory/fit.h"
#include "model/model_tree.h"
#include "report/dump.h"
#include "rules/gguf/rules.h"
#include "store/described.h"
#include "tools.h"

namespace {

using namespace modelutils;

// A loader refuses such a set of parts; we can still list it, so its errors become warnings.
std::vector<Error> warnings_of_parts(const gguf::SplitSet& set, const std::string& path) {
  std::vector<Error> warnings;
  for (const Finding& finding : set.findings) {
    if (finding.severity == Severity::error && finding.scope == Scope::model) {
      warnings.push_back(with_path(finding, path));
    }
  }
  return warnings;
}

// If another tool can list the file, adds the name of that tool to the error.
void say_which_tool(Error& error) {
  if (error.code == "gguf-magic" && error.message.ends_with("it looks like a safetensors file")) {
    error.message += ": st-dump lists it";
  } else if (error.code == "gguf-magic" && (error.message.ends_with(file_kind_text(FileKind::zip)) ||
                                            error.message.ends_with(file_kind_text(FileKind::pickle)))) {
    error.message += "; st-dump lists PyTorch checkpoints";
  }
}

// Opens an importance matrix in the format used before GGUF. Returns nullopt if the file is not one.
Result<std::optional<cli::Opened>> open_imatrix(const std::string& path, const std::string& file) {
  const auto probe = probe_path(file, OutsideLinks::follow);
  if (!probe || probe->format != Format::imatrix) return std::nullopt;
  MU_ASSIGN(auto matrix, quantize::ImportanceMatrix::read(probe->opened.file, file));
  const auto model = std::make_shared<const Model>(std::move(matrix), path);
  cli::Opened result{model, listing_of(*model), {}, {}, {}};
  const auto refuse = [path]() {
    return input_error("gguf-imatrix", "an importance matrix has neither tokens nor layers to load", {}, {}, path);
  };
  result.fit = [refuse](const memory::FitRequest&) -> Result<memory::FitReport> { return refuse(); };
  result.tokenizer = [refuse]() -> Result<tokenizer::EncodeKeys> { return refuse(); };
  return result;
}

// Estimates which models fit, from the header of the smallest one that allows it (a draft model does not).
Status judge_sizes(Repository& repository, const memory::FitRequest& request) {
  std::vector<RepositoryEntry*> by_size;
  for (RepositoryEntry& entry : repository.models) by_size.push_back(&entry);
  std::ranges::sort(by_size, {}, &RepositoryEntry::bytes);
  Status done;
  for (auto first = by_size.begin(); first != by_size.end(); ++first) {
    if ((*first)->bytes == 0) continue;
    MU_ASSIGN(const gguf::SplitSet set, gguf::open_set(repository.path_of(**first)));
    const Result<memory::FitReport> judged = memory::fit(set, request);
    if (!judged) done = tl::make_unexpected(in_file(judged.error(), repository.path_of(**first)));
    if (!judged || judged->is_draft || judged->is_projector) continue;
    for (auto entry = first; entry != by_size.end(); ++entry) {
      (*entry)->fits = memory::fits_by_size(*judged, (*first)->bytes, (*entry)->bytes);
    }
    return {};
  }
  return done;
}

bool is_gguf(const TreeEntry& entry) {
  if (entry.is_manifest) return true;
  const auto probe = probe_path(entry.path, OutsideLinks::follow);
  return probe && (probe->format == Format::gguf || probe->format == Format::imatrix);
}

// A folder stands for the GGUF models in and below it. Without a form of output, all models are listed.
Result<cli::Opened> open_folder(const std::string& path, const DumpRequest& asked) {
  cli::Opened folder;
  std::vector<FolderModel> models;
  std::string other;
  const TreeRest rest = walk_models(path, {}, [&](TreeEntry entry) {
    if (entry.is_cache) return true;
    if (entry.problem) {
      folder.errors.push_back(in_file(std::move(*entry.problem), entry.path));
    } else if (!asked.is_plain) {
      if (is_gguf(entry))
        folder.paths.push_back(entry.path);
      else
        other = other.empty() ? entry.path : other;
    } else {
      Result<DescribedModel> model = describe_model(entry);
      if (model && model->broken) folder.errors.push_back(std::move(*model->broken));
      if (!model) folder.errors.push_back(in_file(std::move(model.error()), entry.path));
      models.push_back(model ? std::move(model->line) : FolderModel{});
      models.back().path = entry.path;
      models.back().bytes = entry.bytes;
    }
    return true;
  });
  if (!folder.paths.empty()) return folder;
  if (models.empty() && folder.errors.empty()) {
    return input_error("io-directory",
                       other.empty() ? "is a directory without a model" + rest_text(rest)
                                     : "is a directory without a GGUF model; st-dump lists '" + other + "'",
                       {}, {}, path);
  }
  const ListingOptions options = asked.options;
  folder.instead = [models = std::move(models), options](TextOutput& out) { write_folder(out, models, options); };
  return folder;
}

Result<cli::Opened> open_gguf_listing(const std::string& path, const DumpRequest& asked) {
  std::string file = path;
  if (is_remote_folder(path)) {
    MU_ASSIGN(Repository repository, list_repository(path));
    if (repository.models.size() != 1) {
      if (asked.fit && asked.fit->available.is_limited()) MU_TRY(judge_sizes(repository, *asked.fit));
      cli::Opened listed;
      listed.instead = [text = asked.json ? repository_json(repository)
                                          : repository_text(repository)](TextOutput& out) { out << text; };
      return listed;
    }
    file = repository.path_of(repository.models.front());
  } else {
    MU_ASSIGN(file, model_file(path));
    if (os::is_folder(file)) return open_folder(file, asked);
  }
  auto found = gguf::open_set(file);
  if (!found && found.error().code == "gguf-magic" && file != "-" && !is_address(file)) {
    MU_ASSIGN(std::optional<cli::Opened> matrix, open_imatrix(path, file));
    if (matrix) return std::move(*matrix);
  }
  if (!found) say_which_tool(found.error());
  MU_ASSIGN(gguf::SplitSet opened, std::move(found));
  const auto model = std::make_shared<const Model>(std::move(opened), file);
  const gguf::SplitSet& set = *model->gguf;
  cli::Opened result{model, listing_of(*model), gguf_container_findings(set), warnings_of_parts(set, path), {}};
  result.fit = [&set](const memory::FitRequest& request) { return memory::fit(set, request); };
  result.tokenizer = [&set] { return tokenizer::read_encode_keys(set); };
  result.chat = [&set](std::string_view name) { return chat_source(set, name); };
  return result;
}

}  // namespace

int modelutils::cli::gguf_dump(int argc, char** argv) {
  cli::DumpArguments arguments;
  return cli::run_dumper(cli::gguf_dump_command(arguments), arguments, open_gguf_listing, argc, argv);
}

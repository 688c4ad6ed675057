#include "to_gguf/planned_model.h"

#include "gguf/parse.h"
#include "io/random_access_file.h"
#include "to_gguf/plan.h"

namespace modelutils::to_gguf {

Result<gguf::SplitSet> planned_model(const std::string& directory) {
  MlxToGgufOptions options;
  options.directory = directory;
  options.output = "planned.gguf";
  options.no_vocab = true;
  options.links = OutsideLinks::warn;  // nothing of them is written
  options.dry_run = true;
  MU_ASSIGN(const GgufPlan plan, plan_gguf(options));
  gguf::SplitSet set;
  for (const PlannedFile& file : plan.files) {
    const Bytes header = std::as_bytes(std::span(file.layout.header));
    const auto source = std::make_shared<MemoryFile>(std::vector<std::byte>(header.begin(), header.end()), file.path);
    MU_ASSIGN(gguf::Document document, gguf::parse(*source));
    set.files.push_back({file.path, source, std::move(document)});
  }
  return set;
}

}  // namespace modelutils::to_gguf

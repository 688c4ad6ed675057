#include "to_gguf/self_check.h"

#include "arch/prediction_block.h"
#include "base/log.h"
#include "gguf/parse.h"
#include "io/random_access_file.h"
#include "rules/gguf/loader_rules.h"
#include "rules/gguf/rules.h"
#include "transfer/planned_source.h"

namespace modelutils::to_gguf {

namespace {

Status check(std::vector<std::shared_ptr<ByteSource>> sources, bool with_vocabulary) {
  gguf::SplitSet set;
  for (std::shared_ptr<ByteSource>& source : sources) {
    MU_ASSIGN(gguf::Document document, gguf::parse(*source));
    set.files.push_back({source->name(), source, std::move(document)});
  }
  FindingLog log = gguf_structure_rules(set);
  if (!arch::is_prediction_alone(set)) log.add_all(loader_findings(set, with_vocabulary));
  if (const Finding* broken = first_error(log)) {
    Error error = *broken;
    error.kind = ErrorKind::internal;
    error.code = "convert-self-check";
    error.file = set.files.front().path;
    error.message += " [" + broken->code + "]";
    return tl::make_unexpected(std::move(error));
  }
  return {};
}

}  // namespace

Status check_plan(const GgufPlan& plan, bool with_vocabulary) {
  std::vector<std::shared_ptr<ByteSource>> sources;
  for (const PlannedFile& file : plan.files) {
    sources.push_back(std::make_shared<PlannedSource>(file.layout.header, file.layout.file_size, file.path));
  }
  return check(std::move(sources), with_vocabulary);
}

Status check_written(const GgufPlan& plan, const std::vector<AtomicOutput>& outputs) {
  const LogStep step("reading back what was written");
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_seekable()) return {};
    const gguf::OutLayout& layout = plan.files[i].layout;
    const auto file = RandomAccessFile::open(outputs[i].staging_path());
    if (!file) return output_error("out-check", file.error().message, outputs[i].path());
    if ((*file)->file_size() != layout.file_size) {
      return output_error("out-write", "does not have the size that was written", outputs[i].path());
    }
    std::string header(layout.header.size(), '\0');
    if (const Status read = (*file)->read_exact(0, std::as_writable_bytes(std::span(header))); !read) {
      return output_error("out-check", read.error().message, outputs[i].path());
    }
    if (header != layout.header) {
      return output_error("out-check", "does not have the header that was written", outputs[i].path());
    }
  }
  return {};
}

}  // namespace modelutils::to_gguf

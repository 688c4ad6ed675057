#include "to_gguf/self_check.h"

#include "base/log.h"
#include "gguf/parse.h"
#include "io/random_access_file.h"
#include "rules/gguf/loader_rules.h"
#include "rules/gguf/rules.h"
#include "transfer/planned_source.h"

namespace modelutils::to_gguf {

namespace {

// A staged output, and why it could not be read, if it could not.
class StagedSource : public ByteSource {
 public:
  explicit StagedSource(std::shared_ptr<RandomAccessFile> file) : file_(std::move(file)) {}

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    Result<std::size_t> got = file_->read_some(offset, out);
    if (!got && !failure_) failure_ = got.error().message;
    return got;
  }
  std::optional<u64> size() const override { return file_->size(); }
  const std::string& name() const override { return file_->name(); }
  const std::optional<std::string>& failure() const { return failure_; }

 private:
  std::shared_ptr<RandomAccessFile> file_;
  mutable std::optional<std::string> failure_;
};

Status check(std::vector<std::shared_ptr<ByteSource>> sources, bool with_vocabulary) {
  gguf::SplitSet set;
  for (std::shared_ptr<ByteSource>& source : sources) {
    MU_ASSIGN(gguf::Document document, gguf::parse(*source));
    set.files.push_back({source->name(), source, std::move(document)});
  }
  FindingLog log = gguf_structure_rules(set);
  log.add_all(loader_findings(set, with_vocabulary));
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

Status check_written(const GgufPlan& plan, const std::vector<AtomicOutput>& outputs, bool with_vocabulary) {
  const LogStep step("reading back what was written");
  std::vector<std::shared_ptr<StagedSource>> staged;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i].is_seekable()) return {};
    const auto file = RandomAccessFile::open(outputs[i].staging_path());
    if (!file) return output_error("out-check", file.error().message, outputs[i].path());
    if ((*file)->file_size() != plan.files[i].layout.file_size) {
      return output_error("out-write", "does not have the size that was written", outputs[i].path());
    }
    staged.push_back(std::make_shared<StagedSource>(*file));
  }
  Status checked = check({staged.begin(), staged.end()}, with_vocabulary);
  for (std::size_t i = 0; i < staged.size(); ++i) {
    if (staged[i]->failure()) return output_error("out-check", *staged[i]->failure(), outputs[i].path());
  }
  return checked;
}

}  // namespace modelutils::to_gguf

#include "model/checkpoint_shard.h"

#include <algorithm>
#include <deque>

#include "io/file_kind.h"
#include "pytorch/check_records.h"
#include "pytorch/contiguous_source.h"
#include "pytorch/parse.h"

namespace modelutils {

namespace {

/// The source of a file in a set. Owns what names and shapes in the set's document are views of.
class CheckpointSource : public pytorch::ContiguousSource {
 public:
  CheckpointSource(std::shared_ptr<ByteSource> file, std::shared_ptr<const pytorch::Document> checkpoint)
      : ContiguousSource(std::move(file), *checkpoint), checkpoint_(std::move(checkpoint)) {}

  const pytorch::Document& checkpoint() const { return *checkpoint_; }

 private:
  std::shared_ptr<const pytorch::Document> checkpoint_;
};

}  // namespace

Result<std::optional<safetensors::ShardContent>> read_checkpoint(std::shared_ptr<ByteSource> source, bool is_part) {
  std::optional<safetensors::ShardContent> content;
  if (!pytorch::is_checkpoint(read_head(*source, pytorch::recognition_bytes), source->name())) return content;
  MU_ASSIGN(pytorch::Document parsed, pytorch::parse(*source));
  const auto checkpoint = std::make_shared<const pytorch::Document>(std::move(parsed));
  auto contiguous = std::make_shared<CheckpointSource>(std::move(source), checkpoint);
  safetensors::Document document;
  document.name = checkpoint->name;
  document.file_size = contiguous->size();
  document.gathered_bytes = *contiguous->size() - checkpoint->file_size;
  document.complete = checkpoint->complete;
  document.findings = checkpoint->findings;
  document.storage = checkpoint;
  const std::string prefix = is_part && !checkpoint->wrapper.empty() ? checkpoint->wrapper + "." : std::string();
  document.tensors.reserve(checkpoint->tensors.size());
  for (std::size_t i = 0; i < checkpoint->tensors.size(); ++i) {
    const pytorch::Tensor& tensor = checkpoint->tensors[i];
    std::string_view name = tensor.name;
    if (!name.starts_with(prefix)) continue;
    name.remove_prefix(prefix.size());
    const u64 begin = contiguous->offset_of(i);
    document.tensors.push_back(
        {name, type_name(tensor.type), tensor.shape, begin, begin + tensor.bytes, tensor.pickle_offset, tensor.type});
  }
  document.names.reserve(document.tensors.size());
  for (const safetensors::Tensor& tensor : document.tensors) document.names.insert(tensor.name);
  content = safetensors::ShardContent{std::move(contiguous), std::move(document)};
  return content;
}

const pytorch::Document* checkpoint_of(const safetensors::ShardFile& file) {
  const auto* source = dynamic_cast<const CheckpointSource*>(file.source.get());
  return source == nullptr ? nullptr : &source->checkpoint();
}

void keep_checkpoint_checksums(const safetensors::ShardSet& set) {
  for (const safetensors::ShardFile& file : set.files) {
    if (auto* source = dynamic_cast<CheckpointSource*>(file.source.get())) source->keep_checksums();
  }
}

FindingLog check_checkpoint_records(const safetensors::ShardSet& set, unsigned threads) {
  FindingLog all;
  for (const safetensors::ShardFile& file : set.files) {
    auto* source = dynamic_cast<CheckpointSource*>(file.source.get());
    if (source == nullptr) continue;
    const std::unique_ptr<pytorch::ReadChecksums> read = source->take_checksums();
    auto findings = pytorch::check_records(source->file(), source->checkpoint(), *read, threads);
    FindingLog log;
    if (findings) {
      log = std::move(*findings);
    } else {
      log.add(without_path(findings.error(), Scope::data));
    }
    if (set.files.size() > 1) log.set_file(file.base_name);
    all.add_all(std::move(log));
  }
  return all;
}

}  // namespace modelutils

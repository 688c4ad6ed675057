#include "convert/transfer/plan.h"

#include <algorithm>
#include <cstring>

#include "formats/gguf/parse.h"
#include "io/check_written.h"

namespace modelutils {

u64 Plan::bytes() const {
  u64 bytes = 0;
  for (const PlannedFile& file : files) bytes += file.size;
  return bytes;
}

namespace {

std::vector<StreamFile> stream_files(const Plan& plan, std::span<AtomicOutput> outputs) {
  std::vector<StreamFile> files;
  for (std::size_t i = 0; i < plan.files.size(); ++i) {
    files.push_back({&outputs[i], plan.files[i].header, plan.files[i].size});
  }
  return files;
}

}  // namespace

Result<std::vector<ValueSums>> write_planned(const Plan& plan, std::span<const CopiedFrom> copied,
                                             std::span<AtomicOutput> outputs, unsigned threads,
                                             const EncodeRows& encode, Progress& progress) {
  const std::vector<StreamFile> files = stream_files(plan, outputs);
  MU_ASSIGN(std::vector<ValueSums> errors, stream_tensors(files, plan.stream, copied, threads, encode, progress));
  for (const StreamFile& file : files) MU_TRY(check_written(*file.output, file.header, file.size));
  return errors;
}

Result<std::vector<ValueSums>> write_planned(const Plan& plan, std::span<AtomicOutput> outputs, unsigned threads,
                                             const EncodeRows& encode, Progress& progress, const TakeRows& take) {
  const std::vector<StreamFile> files = stream_files(plan, outputs);
  MU_ASSIGN(std::vector<ValueSums> errors, stream_tensors(files, plan.stream, threads, encode, progress, {}, take));
  for (const StreamFile& file : files) MU_TRY(check_written(*file.output, file.header, file.size));
  return errors;
}

Result<std::size_t> PlannedSource::read_some(u64 offset, MutableBytes out) const {
  if (offset >= file_size_) return std::size_t{0};
  const std::size_t size = static_cast<std::size_t>(std::min<u64>(out.size(), file_size_ - offset));
  if (offset >= header_.size()) {
    if (rest_) return rest_->read_some(offset, out.first(size));
    std::memset(out.data(), 0, size);
    return size;
  }
  const std::size_t from_header = std::min<std::size_t>(size, header_.size() - static_cast<std::size_t>(offset));
  std::memcpy(out.data(), header_.data() + offset, from_header);
  return from_header;
}

Result<gguf::SetFile> planned_file(std::string_view header, u64 file_size, std::string path) {
  auto source = std::make_shared<PlannedSource>(header, file_size, path);
  MU_ASSIGN(gguf::Document document, gguf::parse(*source));
  return gguf::SetFile{std::move(path), std::move(source), std::move(document)};
}

}  // namespace modelutils

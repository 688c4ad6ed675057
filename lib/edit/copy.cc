#include "edit/copy.h"

#include <algorithm>

#include "io/check_written.h"
#include "io/copy_range.h"
#include "io/free_space.h"
#include "io/shared_blocks.h"
#include "io/write_back.h"

namespace modelutils::edit {

namespace {

constexpr u64 step_bytes = u64{64} << 20;

class FileWriter {
 public:
  FileWriter(const gguf::SplitSet& set, AtomicOutput& output, Progress& progress)
      : set_(set), output_(output), progress_(progress), write_back_(output) {}

  Status write(const EditedFile& file) {
    MU_TRY(output_.append(std::as_bytes(std::span(file.layout.header))));
    progress_.advance(file.layout.header.size());
    for (const EditedPiece& piece : file.pieces) {
      MU_TRY(pad_to(piece.to));
      MU_TRY(copy(piece));
    }
    return pad_to(file.layout.file_size);
  }

 private:
  Status pad_to(u64 end) {
    static constexpr std::byte zeros[4096] = {};
    while (output_.appended() < end) {
      MU_TRY(output_.append(Bytes(zeros).first(std::min<u64>(sizeof zeros, end - output_.appended()))));
    }
    return {};
  }

  // Copies up to the first full block separately, so that the kernel can share the blocks that follow.
  Status copy(EditedPiece piece) {
    const RandomAccessFile& source = *set_.files[piece.file].source->as_file();  // the planner refuses sources that are
                                                                                 // not files
    const u64 into_block = piece.to % shared_block_bytes;
    if (output_.is_seekable() && into_block != 0 && piece.from % shared_block_bytes == into_block) {
      MU_TRY(step(source, piece, std::min(piece.size, shared_block_bytes - into_block)));
    }
    while (piece.size > 0) MU_TRY(step(source, piece, std::min(piece.size, step_bytes)));
    return {};
  }

  Status step(const RandomAccessFile& source, EditedPiece& piece, u64 size) {
    MU_TRY(copy_range(source, piece.from, size, output_));
    piece.from += size;
    piece.to += size;
    piece.size -= size;
    progress_.advance(size);
    return output_.is_seekable() ? write_back_.reached(piece.to) : Status{};
  }

  const gguf::SplitSet& set_;
  AtomicOutput& output_;
  Progress& progress_;
  WriteBack write_back_;
};

}  // namespace

Status write_edited(const std::vector<EditedFile>& files, const gguf::SplitSet& set, const OutputOptions& options,
                    Progress& progress) {
  std::vector<AtomicOutput> outputs;
  outputs.reserve(files.size());
  u64 total = 0;
  for (const EditedFile& file : files) total += file.layout.file_size;
  if (!files.empty()) MU_TRY(check_free_space(files.front().path, total));
  // Pause each output, because there may be more outputs than files may be open.
  for (const EditedFile& file : files) {
    MU_ASSIGN(AtomicOutput output, AtomicOutput::create(file.path, options));
    if (files.size() > 1) output.pause();
    outputs.push_back(std::move(output));
  }
  progress.restart("writing", total);
  for (std::size_t i = 0; i < files.size(); ++i) {
    MU_TRY(outputs[i].resume());
    MU_TRY(FileWriter(set, outputs[i], progress).write(files[i]));
    MU_TRY(check_written(outputs[i], files[i].layout.header, files[i].layout.file_size));
    if (files.size() > 1) MU_TRY(outputs[i].finish());
  }
  progress.finish();
  return AtomicOutput::commit_all(outputs);
}

}  // namespace modelutils::edit

#include "edit/layout.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/text.h"
#include "base/types.h"
#include "formats/gguf/split_set.h"
#include "io/check_written.h"
#include "io/copy_range.h"
#include "io/output_place.h"

namespace modelutils::edit {

namespace {

constexpr std::size_t max_parts = 65535;

std::vector<gguf::OutKey>::iterator find_reserve(std::vector<gguf::OutKey>& keys) {
  return std::find_if(keys.begin(), keys.end(), [](const gguf::OutKey& key) {
    return (key.key == reserve_key && key.type == gguf::ValueType::string) || key.key == short_reserve_key;
  });
}

void set_filler(std::vector<gguf::OutKey>& keys, gguf::OutKey filler) {
  if (const auto there = find_reserve(keys); there != keys.end()) {
    *there = std::move(filler);
  } else {
    keys.push_back(std::move(filler));
  }
}

std::string spaces(u64 bytes) {
  return std::string(static_cast<std::size_t>(bytes), ' ');
}

void set_reserve(std::vector<gguf::OutKey>& keys, u64 bytes) {
  set_filler(keys, gguf::make_key_string(std::string(reserve_key), spaces(bytes)));
}

u64 record_bytes(const gguf::OutKey& key) {
  return 8 + key.key.size() + 4 + key.encoded.size();
}

u64 round_up(u64 value, u64 multiple) {
  return checked_round_up(value, multiple).value_or(value);
}

class LayoutPlanner {
 public:
  LayoutPlanner(const EditedModel& model, const LayoutOptions& options)
      : model_(model), options_(options), keys_(model.keys), alignment_(model.alignment()) {}

  Result<std::vector<EditedFile>> run() {
    if (options_.reserve) reserve(*options_.reserve);
    if (!options_.split.is_wanted()) {
      if (options_.old_data_offset) make_congruent(*options_.old_data_offset);
      MU_TRY(add_file(keys_, 0, model_.tensors.size(), options_.output));
      return std::move(files_);
    }
    std::erase_if(keys_, [](const gguf::OutKey& key) { return gguf::is_split_key(key.key); });
    MU_TRY(split());
    return std::move(files_);
  }

 private:
  void reserve(u64 bytes) {
    if (bytes > 0) return set_reserve(keys_, bytes);
    if (const auto there = find_reserve(keys_); there != keys_.end()) keys_.erase(there);
  }

  // Extends or adds the filler so that the data keeps its offset within a block, which lets the kernel share blocks.
  void make_congruent(u64 old_offset) {
    constexpr u64 block = shared_block_bytes;
    if (model_.tensors.empty() || alignment_ > block || old_offset % alignment_ != 0) return;
    std::erase_if(keys_, [](const gguf::OutKey& key) { return key.key == short_reserve_key; });
    const u64 size = gguf::header_bytes(keys_, out_tensors(model_.tensors));
    if (round_up(size, alignment_) % block == old_offset % block) return;
    const auto there = find_reserve(keys_);
    const u64 filled = there == keys_.end() ? 0 : there->encoded.size() - sizeof(u64);
    const u64 least = there == keys_.end() ? size + reserve_record_bytes : size;
    const u64 wanted = least + (old_offset % block + block - least % block) % block;
    set_reserve(keys_, filled + (wanted - least));
  }

  // Returns the index of the first tensor in each part.
  std::vector<std::size_t> part_starts() const {
    const SplitOptions& options = options_.split;
    std::vector<std::size_t> starts = {0};
    if (options.no_tensor_first) starts.push_back(0);
    u64 size = 0;
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
      const u64 padded = round_up(model_.tensors[i].bytes, default_alignment);
      const bool is_full = options.max_tensors ? i > 0 && i % *options.max_tensors == 0
                                               : options.max_size && size > 0 && size + padded > *options.max_size;
      if (is_full) {
        starts.push_back(i);
        size = 0;
      }
      size += padded;
    }
    return starts;
  }

  Status split() {
    const std::vector<std::size_t> starts = part_starts();
    const std::size_t count = starts.size();
    if (count > max_parts) {
      return usage_error(fmt::format("the model would become {} files, at most {} are allowed; choose a larger size",
                                     count, max_parts));
    }
    std::string prefix = options_.output;
    if (prefix.ends_with(".gguf")) prefix.resize(prefix.size() - 5);
    for (std::size_t i = 0; i < count; ++i) {
      std::vector<gguf::OutKey> keys;
      if (i == 0) {
        keys = std::move(keys_);
      } else if (alignment_ != default_alignment) {
        keys.push_back(gguf::make_key("general.alignment", static_cast<u32>(alignment_)));
      }
      keys.push_back(gguf::make_key_u16("split.no", static_cast<u16>(i)));
      keys.push_back(gguf::make_key_i32("split.tensors.count", static_cast<i32>(model_.tensors.size())));
      keys.push_back(
          gguf::make_key_u16("split.count", static_cast<u16>(count)));  // last, as llama.cpp's splitter writes it
      const std::size_t end = i + 1 < count ? starts[i + 1] : model_.tensors.size();
      MU_TRY(
          add_file(keys, starts[i], end, gguf::split_path(prefix, static_cast<u32>(i + 1), static_cast<u32>(count))));
    }
    return {};
  }

  Status add_file(const std::vector<gguf::OutKey>& keys, std::size_t begin, std::size_t end, std::string path) {
    EditedFile file;
    file.path = std::move(path);
    file.tensors = end - begin;
    MU_ASSIGN(gguf::OutLayout layout,
              gguf::layout(keys, out_tensors(std::span(model_.tensors).subspan(begin, end - begin)), alignment_,
                           model_.version, model_.limits));
    for (std::size_t i = begin; i < end; ++i) {
      const EditedTensor& tensor = model_.tensors[i];
      const u64 to = layout.offsets[i - begin];
      if (tensor.slices.empty()) {
        add_piece(file.pieces, {tensor.file, tensor.offset, to, tensor.bytes}, tensor.alignment);
      }
      u64 done = 0;
      for (const DataSlice& slice : tensor.slices) {
        add_piece(file.pieces, {tensor.file, tensor.offset + slice.from, to + done, slice.size}, tensor.alignment);
        done += slice.size;
      }
    }
    const bool is_last = begin < end && end == model_.tensors.size();
    file.size = is_last && !model_.is_end_padded ? layout.offsets.back() + layout.bytes.back() : layout.file_size;
    file.header = std::move(layout.header);
    files_.push_back(std::move(file));
    return {};
  }

  // Extends the last piece if only padding separates the two, of the same size in both files.
  static void add_piece(std::vector<EditedPiece>& pieces, const EditedPiece& piece, u64 old_alignment) {
    if (!pieces.empty()) {
      EditedPiece& last = pieces.back();
      const u64 gap = piece.to - (last.to + last.size);
      if (last.file == piece.file && gap < old_alignment && last.from + last.size + gap == piece.from) {
        last.size += gap + piece.size;
        return;
      }
    }
    pieces.push_back(piece);
  }

  const EditedModel& model_;
  const LayoutOptions& options_;
  std::vector<gguf::OutKey> keys_;
  u64 alignment_;
  std::vector<EditedFile> files_;
};

}  // namespace

gguf::OutTensors out_tensors(std::span<const EditedTensor> tensors) {
  return {tensors.size(), [tensors](std::size_t i) { return gguf::view_of(tensors[i].out); }};
}

Result<std::vector<EditedFile>> lay_out(const EditedModel& model, const LayoutOptions& options) {
  return LayoutPlanner(model, options).run();
}

Status fit_header(std::vector<gguf::OutKey>& keys, const gguf::OutTensors& tensors, u64 alignment, u64 data_offset) {
  if (round_up(gguf::header_bytes(keys, tensors), alignment) == data_offset) return {};
  const auto there = find_reserve(keys);
  const u64 reserved = there == keys.end() ? 0 : record_bytes(*there);
  const u64 size = gguf::header_bytes(keys, tensors) - reserved;
  if (data_offset % alignment == 0 && size + reserve_record_bytes <= data_offset) {
    set_reserve(keys, data_offset - size - reserve_record_bytes);
    return {};
  }
  if (round_up(size, alignment) == data_offset) {
    if (there != keys.end()) keys.erase(there);
    return {};
  }
  const std::string name(short_reserve_key);
  if (data_offset % alignment == 0 && size + short_reserve_text_bytes <= data_offset) {
    set_filler(keys, gguf::make_key_string(name, spaces(data_offset - size - short_reserve_text_bytes)));
    return {};
  }
  if (round_up(size + short_reserve_bool_bytes, alignment) == data_offset) {
    set_filler(keys, gguf::make_key_bool(name, false));
    return {};
  }
  if (data_offset % alignment != 0) {
    return output_error("edit-no-room",
                        fmt::format("this edit cannot be made in place (the data begins at byte {}, which is not a "
                                    "multiple of {}); write a copy with -o",
                                    data_offset, alignment));
  }
  if (size > data_offset) {
    return output_error(
        "edit-no-room",
        fmt::format("this edit cannot be made in place (the header needs {} more); write a copy with room for later "
                    "edits: -o OUT.gguf --reserve 64K",
                    counted(size - data_offset, "byte")));
  }
  return output_error(
      "edit-no-room",
      fmt::format("this edit cannot be made in place ({} are left over, too many for padding and too few for any key); "
                  "write a copy with -o",
                  counted(data_offset - size, "byte")));
}

namespace {

constexpr u64 step_bytes = u64{64} << 20;

class FileWriter {
 public:
  FileWriter(const gguf::SplitSet& set, AtomicOutput& output, Progress& progress)
      : set_(set), output_(output), progress_(progress), write_back_(output) {}

  Status write(const EditedFile& file) {
    MU_TRY(output_.append(std::as_bytes(std::span(file.header))));
    progress_.advance(file.header.size());
    for (const EditedPiece& piece : file.pieces) {
      MU_TRY(pad_to(piece.to));
      MU_TRY(copy(piece));
    }
    return pad_to(file.size);
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
    const RandomAccessFile& source = *set_.files[piece.file].source->as_file();  // the planner refuses pipes
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
  for (const EditedFile& file : files) total += file.size;
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
    MU_TRY(check_written(outputs[i], files[i].header, files[i].size));
    if (files.size() > 1) MU_TRY(outputs[i].finish());
  }
  progress.finish();
  return AtomicOutput::commit_all(outputs);
}

}  // namespace modelutils::edit

#include "convert/to_directory/fused.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arch/facts.h"
#include "arch/families.h"
#include "arch/loader_forms.h"
#include "base/byte_reader.h"
#include "base/types.h"

namespace modelutils::to_directory {

namespace {

using Fused = std::unordered_map<std::string, arch::FusedTensor>;

// Equally spaced pieces of a file, presented one after another.
struct Stripe {
  u64 begin = 0;   // offset in this source
  u64 from = 0;    // offset of the first piece in the file
  u64 piece = 0;   // bytes per piece
  u64 stride = 0;  // distance between pieces in the file
  u64 count = 0;

  u64 size() const { return piece * count; }
};

// A file, extended past its end with the parts of fused tensors whose rows are not contiguous in it.
class RegroupedSource : public ByteSource {
 public:
  RegroupedSource(std::shared_ptr<ByteSource> file, u64 file_size)
      : file_(std::move(file)), file_size_(file_size), end_(file_size) {}

  u64 end() const { return end_; }
  bool has_stripes() const { return !stripes_.empty(); }

  // Returns false if a size overflows or exceeds the file.
  bool add(u64 from, u64 piece, u64 stride, u64 count) {
    if (piece == 0 || count == 0) return false;
    const auto steps = checked_mul(stride, count - 1);
    const auto last = steps ? checked_add(from, *steps) : std::nullopt;
    const auto bytes = checked_mul(piece, count);
    const auto end = bytes ? checked_add(end_, *bytes) : std::nullopt;
    if (!last || !end || !fits(*last, piece, file_size_)) return false;
    stripes_.push_back({end_, from, piece, stride, count});
    end_ = *end;
    return true;
  }

  Result<std::size_t> read_some(u64 offset, MutableBytes out) const override {
    if (offset < file_size_) {
      return file_->read_some(offset,
                              out.first(static_cast<std::size_t>(std::min<u64>(out.size(), file_size_ - offset))));
    }
    std::size_t done = 0;
    while (done < out.size() && offset < end_) {
      const Stripe& stripe = *std::prev(std::ranges::upper_bound(stripes_, offset, {}, &Stripe::begin));
      const u64 at = offset - stripe.begin;
      const u64 in_piece = at % stripe.piece;
      const auto size = static_cast<std::size_t>(std::min<u64>(out.size() - done, stripe.piece - in_piece));
      MU_TRY(file_->read_exact(stripe.from + at / stripe.piece * stripe.stride + in_piece, out.subspan(done, size)));
      done += size;
      offset += size;
    }
    return done;
  }

  std::optional<u64> size() const override { return end_; }
  const std::string& name() const override { return file_->name(); }

 private:
  std::shared_ptr<ByteSource> file_;
  u64 file_size_;
  u64 end_;
  std::vector<Stripe> stripes_;  // ordered by begin, without gaps
};

std::string_view without_side(std::string_view name) {
  return name.substr(0, name.rfind('.'));
}

u64 rows_of(const std::vector<u64>& ne) {
  u64 rows = 1;
  for (std::size_t d = ne.size() > 1 ? 1 : 0; d < ne.size(); ++d) rows = checked_mul(rows, ne[d]).value_or(0);
  return rows;
}

class Separator {
 public:
  explicit Separator(gguf::SetFile& file) : file_(file) {
    const auto size = file.source->size();
    if (size) source_ = std::make_shared<RegroupedSource>(file.source, *size);
  }

  // Returns the parts as tensors over the same bytes, or an empty list if they do not cover the whole tensor.
  std::vector<gguf::TensorInfo> parts_of(const gguf::TensorInfo& whole, const arch::FusedTensor& fused) {
    const auto bytes = whole.bytes();
    const u64 rows = rows_of(whole.ne);
    u64 in_turn = 0;
    for (const auto& piece : fused.pieces) in_turn = checked_add(in_turn, piece.rows).value_or(0);
    if (!bytes || source_ == nullptr || in_turn == 0 || checked_mul(in_turn, fused.turns) != rows || *bytes % rows != 0)
      return {};
    const u64 row = *bytes / rows;
    std::vector<gguf::TensorInfo> parts;
    for (std::size_t i = 0; i < fused.parts.size(); ++i) {
      gguf::TensorInfo& part = parts.emplace_back(whole);
      part.name = fused.parts[i].name;
      part.ne = fused.parts[i].ne;
      part.n_dims = static_cast<u32>(part.ne.size());
      if (!place(whole, fused, i, row, in_turn, part)) return {};
    }
    return parts;
  }

  // Replaces the file's source if any rows had to be regrouped.
  void finish() {
    if (source_ == nullptr || !source_->has_stripes()) return;
    file_.document.file_size = source_->end();
    file_.source = std::move(source_);
  }

 private:
  // Sets the offset of part `number`: within the file if its rows are contiguous there, otherwise past its end.
  bool place(const gguf::TensorInfo& whole, const arch::FusedTensor& fused, std::size_t number, u64 row, u64 in_turn,
             gguf::TensorInfo& part) {
    const bool is_run =
        fused.turns == 1 && std::ranges::count(fused.pieces, number, &arch::FusedTensor::Piece::part) == 1;
    const auto start = checked_add(file_.document.data_offset, whole.offset);
    if (!start || part.bytes() != checked_mul(rows_of(part.ne), row)) return false;
    if (!is_run) part.offset = source_->end() - file_.document.data_offset;
    u64 before = 0, taken = 0;  // rows
    for (const auto& piece : fused.pieces) {
      if (piece.part == number) {
        const auto from = checked_add(*start, before * row);
        if (!from) return false;
        if (is_run) part.offset = *from - file_.document.data_offset;
        if (!is_run && !source_->add(*from, piece.rows * row, in_turn * row, fused.turns)) return false;
        taken += piece.rows * fused.turns;
      }
      before += piece.rows;
    }
    return taken == rows_of(part.ne);
  }

  gguf::SetFile& file_;
  std::shared_ptr<RegroupedSource> source_;
};

// A factor of the fused matrix applies to each of its parts.
std::vector<gguf::TensorInfo> factors_of_parts(const gguf::TensorInfo& whole, const Fused& fused) {
  std::vector<gguf::TensorInfo> parts;
  const std::string_view module = without_side(whole.name);
  const auto found = fused.find(std::string(module) + ".weight");
  if (found == fused.end() || (!whole.name.ends_with(".scale") && !whole.name.ends_with(".input_scale"))) return parts;
  for (const arch::ExpectedTensor& one : found->second.parts) {
    parts.emplace_back(whole).name = std::string(without_side(one.name)) + whole.name.substr(module.size());
  }
  return parts;
}

}  // namespace

bool take_fused_apart(gguf::SplitSet& set) {
  const gguf::Index index(set.files.front().document);
  const arch::Family* family = arch::find_family(index);
  if (family == nullptr) return false;
  Result<arch::Sizes> sizes = arch::read_gguf_sizes(*family, index, set.files.front());
  if (!sizes) return false;
  arch::leave_out_prediction(*family, index, *sizes);
  std::unordered_map<std::string_view, const gguf::TensorInfo*> tensors;
  for (const gguf::SetFile& file : set.files) {
    for (const gguf::TensorInfo& tensor : file.document.tensors) tensors.emplace(tensor.name, &tensor);
  }
  Fused fused;
  for (arch::FusedTensor& one : arch::fused_tensors(
           *family, *sizes, [&](const std::string& name) { return tensors.contains(name); },
           arch::expected_tensors(*family, *sizes))) {
    fused.emplace(one.name, std::move(one));
  }
  if (fused.empty()) return false;
  for (gguf::SetFile& file : set.files) {
    Separator separator(file);
    std::vector<gguf::TensorInfo> all;
    for (gguf::TensorInfo& tensor : file.document.tensors) {
      const auto found = fused.find(tensor.name);
      std::vector<gguf::TensorInfo> parts =
          found == fused.end() ? factors_of_parts(tensor, fused) : separator.parts_of(tensor, found->second);
      if (parts.empty()) parts.push_back(std::move(tensor));
      for (gguf::TensorInfo& part : parts) all.push_back(std::move(part));
    }
    file.document.tensors = std::move(all);
    separator.finish();
  }
  return true;
}

}  // namespace modelutils::to_directory

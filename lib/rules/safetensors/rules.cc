#include "rules/safetensors/rules.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/escape.h"
#include "base/text.h"
#include "base/types.h"
#include "model/adapter/adapter.h"
#include "model/catalog.h"
#include "model/format.h"
#include "rules/formats.h"

namespace modelutils {

namespace {

// Reports what would make mlx2gguf refuse the adapter itself. Does not judge methods other than LoRA.
void check_adapter(const SafetensorsModel& model, FindingLog& log) {
  const auto read = adapter::read_adapter(model.folder, model.set);
  if (read) return;
  Finding finding = without_path(read.error(), Scope::model);
  if (finding.code == "adapter-method") finding.severity = Severity::note;
  const bool is_of_container = finding.code.starts_with("st-") || finding.code.starts_with("pt-");
  if (!is_of_container) log.add(std::move(finding));  // those of the container are reported already
}

}  // namespace

FindingLog safetensors_container_rules(const safetensors::Document& document) {
  FindingLog log(document.findings);
  if (document.data_offset == 0) return log;  // the header was not found
  safetensors_rules::check_tensors(document, log);
  safetensors_rules::check_layout(document, log);
  return log;
}

FindingLog safetensors_container_rules(const safetensors::ShardSet& set) {
  const bool name_files = set.is_directory || !set.index_path.empty();
  FindingLog all(set.findings);
  for (const safetensors::ShardFile& file : set.files) {
    FindingLog log = safetensors_container_rules(file.document);
    if (name_files) log.set_file(file.base_name);
    all.add_all(std::move(log));
  }
  return all;
}

Findings safetensors_container_findings(const safetensors::ShardSet& set) {
  return safetensors_container_rules(set).findings();
}

Result<CheckedModel> check_safetensors(const Model& model, unsigned /*threads*/) {
  CheckedModel checked;
  const SafetensorsModel& opened = *model.safetensors;
  const std::optional<PeftAdapter> adapter =
      opened.set.is_directory ? peft_adapter(opened.folder) : std::optional<PeftAdapter>();
  checked.format_text = adapter ? adapter->text() : "safetensors";
  checked.findings = safetensors_container_rules(model.safetensors->set);
  if (opened.set.is_directory && adapter::is_adapter(opened.folder)) check_adapter(opened, checked.findings);
  checked.catalog = model.catalog();
  return checked;
}

}  // namespace modelutils

namespace modelutils::safetensors_rules {

// Checks tensor offsets: every byte after the header must belong to exactly one tensor.

namespace {

using safetensors::Document;
using safetensors::Tensor;

constexpr u64 data_alignment = 8;

class SafetensorsLayout {
 public:
  SafetensorsLayout(const Document& document, FindingLog& log)
      : document_(document), tensors_(document.tensors), log_(log), data_size_(document.data_bytes()) {}

  void check() {
    if (!document_.complete) return;  // the header is truncated, so tensors may be unknown
    if (document_.data_offset % data_alignment != 0) {
      log_.note(
          Scope::container, "st-unaligned",
          [&] {
            return fmt::format("the data starts at byte {}, which is not a multiple of {}", document_.data_offset,
                               data_alignment);
          },
          "data", document_.data_offset);
    }
    check_end();
    if (is_contiguous()) return check_tail();
    check_empty_tensors();
    ByteMap map = map_bytes(spans(), 0, reached());
    for (const ByteOverlap& overlap : map.overlaps) report_overlap(overlap);
    if (has_unknown_place()) return;
    for (const ByteGap& gap : map.gaps) report_gap(gap);
    check_tail();
  }

 private:
  /// The usual case, checked without sorting: the header is in data order.
  bool is_contiguous() const {
    u64 end = 0;
    for (const Tensor& tensor : tensors_) {
      if (tensor.begin != end || tensor.end < end) return false;
      end = tensor.end;
    }
    return true;
  }

  /// True if some entries have no known position, in which case holes are expected.
  bool has_unknown_place() const {
    return first_container_error(document_.findings) != nullptr ||
           std::any_of(tensors_.begin(), tensors_.end(),
                       [](const Tensor& tensor) { return tensor.begin > tensor.end; });
  }

  /// Reports a truncated file with one finding, however many tensors are affected.
  void check_end() {
    if (!data_size_) return;
    const Tensor* first = nullptr;
    u64 cut = 0;
    u64 needed = 0;
    for (const Tensor& tensor : tensors_) {
      if (tensor.begin > tensor.end || tensor.end <= *data_size_) continue;
      if (first == nullptr) first = &tensor;
      needed = std::max(needed, tensor.end);
      ++cut;
    }
    if (first == nullptr) return;
    const u64 begin = document_.data_offset;
    log_.add({.code = "st-data-truncated",
              .message = fmt::format("{}; {}",
                                     incomplete_text(begin + *data_size_, checked_add(begin, needed).value_or(needed)),
                                     cut_tensors_text(cut, tensors_.size())),
              .where = at_tensor(first->name),
              .offset = first->entry_offset,
              .leads = true});
  }

  /// Returns the end of the last byte that is in the file and belongs to a tensor.
  u64 reached() const {
    u64 end = 0;
    for (const Tensor& tensor : tensors_) {
      if (tensor.begin < tensor.end) end = std::max(end, tensor.end);
    }
    return data_size_ ? std::min(end, *data_size_) : end;
  }

  std::vector<ByteSpan> spans() const {
    std::vector<ByteSpan> all;
    all.reserve(tensors_.size());
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].begin < tensors_[i].end) all.push_back({tensors_[i].begin, tensors_[i].end, i});
    }
    return all;
  }

  /// The safetensors library refuses an empty tensor inside another tensor.
  void check_empty_tensors() {
    std::vector<ByteSpan> sorted;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Tensor& tensor = tensors_[i];
      if (tensor.begin != tensor.end) continue;
      if (sorted.empty()) {
        sorted = spans();
        if (sorted.empty()) return;
        std::sort(sorted.begin(), sorted.end(), [](const ByteSpan& a, const ByteSpan& b) { return a.begin < b.begin; });
      }
      const auto behind = std::partition_point(sorted.begin(), sorted.end(),
                                               [&](const ByteSpan& span) { return span.begin < tensor.begin; });
      if (behind == sorted.begin() || std::prev(behind)->end <= tensor.begin) continue;
      log_.error(
          Scope::container, "st-overlap",
          [&] {
            return fmt::format("is empty, but lies inside {}", at_tensor(tensors_[std::prev(behind)->id].name).text());
          },
          at_tensor(tensor.name), tensor.entry_offset);
    }
  }

  void report_overlap(const ByteOverlap& overlap) {
    const Tensor& tensor = tensors_[overlap.second];
    log_.error(
        Scope::container, "st-overlap",
        [&] {
          return fmt::format("shares {} with {}", counted(overlap.end - overlap.begin, "byte"),
                             at_tensor(tensors_[overlap.first].name).text());
        },
        at_tensor(tensor.name), tensor.entry_offset);
  }

  void report_gap(const ByteGap& gap) {
    log_.error(
        Scope::container, "st-hole",
        [&] {
          return fmt::format("{} before it {} not used by any tensor", counted(gap.end - gap.begin, "byte"),
                             verb(gap.end - gap.begin, "is", "are"));
        },
        gap.after == ByteGap::no_span ? std::string("data") : at_tensor(tensors_[gap.after].name).text(),
        document_.data_offset + gap.begin);
  }

  void check_tail() {
    const u64 end = reached();
    if (!data_size_ || *data_size_ <= end || has_unknown_place()) return;
    log_.error(
        Scope::container, "st-trailing-data",
        [&] {
          return fmt::format("{} after the last tensor {} not used by any tensor", counted(*data_size_ - end, "byte"),
                             verb(*data_size_ - end, "is", "are"));
        },
        "data", document_.data_offset + end);
  }

  const Document& document_;
  const std::vector<Tensor>& tensors_;
  FindingLog& log_;
  const std::optional<u64> data_size_;
};

}  // namespace

void check_layout(const Document& document, FindingLog& log) {
  SafetensorsLayout(document, log).check();
}

// Checks one safetensors entry by itself: name, dtype, shape, offsets, size.

namespace {

using safetensors::Tensor;

class SafetensorsTensorRules {
 public:
  SafetensorsTensorRules(const Tensor& tensor, FindingLog& log)
      : tensor_(tensor), place_(at_tensor(tensor.name)), log_(log) {}

  void check() {
    if (needs_escape(tensor_.name)) {
      log_.warning(
          Scope::container, "st-name-control",
          [] { return std::string("the name contains control or invisible characters"); }, place_,
          tensor_.entry_offset);
    }
    if (!tensor_.type) {
      log_.error(
          Scope::model, "st-dtype", [&] { return fmt::format("'{}' is not a dtype of the format", tensor_.dtype); },
          place_, tensor_.entry_offset);
    }
    const bool in_order = tensor_.begin <= tensor_.end;
    if (!in_order) {
      log_.error(
          Scope::container, "st-offsets",
          [&] { return fmt::format("data_offsets end at {}, before they start at {}", tensor_.end, tensor_.begin); },
          place_, tensor_.entry_offset);
    }
    check_size(in_order);
  }

 private:
  void check_size(bool in_order) {
    const std::optional<u64> elements = tensor_.elements();
    if (!elements) {
      return log_.error(
          Scope::container, "st-shape-overflow",
          [&] {
            return fmt::format("the number of elements of shape [{}] does not fit in 64 bits", joined(tensor_.shape));
          },
          place_, tensor_.entry_offset);
    }
    if (!tensor_.type) return;
    const TypeInfo& type = type_info(*tensor_.type);
    if (*elements % type.block_elements != 0) {
      return log_.error(
          Scope::container, "st-partial-byte",
          [&] {
            return fmt::format("{} of {} {} not a whole number of bytes", counted(*elements, "element"), type.name,
                               verb(*elements, "is", "are"));
          },
          place_, tensor_.entry_offset);
    }
    const std::optional<u64> bytes = tensor_.expected_bytes();
    if (!bytes) {
      return log_.error(
          Scope::container, "st-shape-overflow",
          [&] { return fmt::format("{} elements of {} take more bytes than a file can have", *elements, type.name); },
          place_, tensor_.entry_offset);
    }
    if (in_order && tensor_.bytes() != *bytes) {
      log_.error(
          Scope::container, "st-size",
          [&] {
            return fmt::format("data_offsets span {}, but {} [{}] takes {}", counted(tensor_.bytes(), "byte"),
                               type.name, joined(tensor_.shape), *bytes);
          },
          place_, tensor_.entry_offset);
    }
  }

  const Tensor& tensor_;
  const Place place_;
  FindingLog& log_;
};

}  // namespace

void check_tensors(const safetensors::Document& document, FindingLog& log) {
  for (const Tensor& tensor : document.tensors) SafetensorsTensorRules(tensor, log).check();
}

}  // namespace modelutils::safetensors_rules

namespace modelutils {

Result<adapter::Adapter> open_adapter(const std::string& directory) {
  const ModelFolder folder(directory);
  MU_ASSIGN(const safetensors::ShardSet weights, adapter::open_weights(folder));
  const Findings container = safetensors_container_findings(weights);
  if (const Finding* broken = first_error(container)) return tl::make_unexpected(with_path(*broken, weights.path));
  return adapter::read_adapter(folder, weights);
}

}  // namespace modelutils

#include "report/st_text.h"

#include <algorithm>
#include <map>
#include <string>

#include <fmt/format.h>
#include "base/counted.h"
#include "base/escape.h"
#include "report/numbers.h"
#include "report/st_selection.h"

namespace modelutils {

namespace {

using safetensors::Tensor;
using safetensors::TensorRef;

// Wider cells than these push their row's rest to the right instead of everybody's.
constexpr std::size_t widest_shape = 24;
constexpr std::size_t widest_file = 40;
// Metadata values longer than this many columns are shortened; --get prints them whole.
constexpr std::size_t value_columns = 100;

std::size_t digits_of(u64 number) {
  std::size_t digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

void pad_to(std::string& out, std::size_t column) {
  if (out.size() < column) out.append(column - out.size(), ' ');
}

void append_right(std::string& out, u64 number, std::size_t width) {
  const std::size_t digits = digits_of(number);
  if (digits < width) out.append(width - digits, ' ');
  append_number(out, number);
}

void append_shape(std::string& out, std::span<const u64> shape) {
  out += '[';
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) out += ", ";
    append_number(out, shape[i]);
  }
  out += ']';
}

std::size_t shape_width(std::span<const u64> shape) {
  std::size_t width = 2 + (shape.empty() ? 0 : 2 * (shape.size() - 1));
  for (const u64 dim : shape) width += digits_of(dim);
  return width;
}

// Plain names are by far the most; escape() makes a copy.
void append_escaped(std::string& out, std::string_view text) {
  if (needs_escape(text) || text.find('\\') != std::string_view::npos) {
    out += escape(text);
  } else {
    out += text;
  }
}

// Each word in the paint, the blanks between them plain.
std::string painted_words(const Style& style, Paint paint, std::string_view line) {
  std::string out;
  while (!line.empty()) {
    const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
    const std::size_t end = std::min(line.find(' ', begin), line.size());
    out += line.substr(0, begin);
    out += style(paint, line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
  return out;
}

// "  label          ", as wide as the longest.
std::string label_text(const Style& style, std::string_view label) {
  return "  " + style(Paint::label, label) + std::string(15 - std::min<std::size_t>(label.size(), 14), ' ');
}

// The table of tensors: dtype, shape, bytes, place in the file's data, file (if there are several), name.
class TensorTable {
 public:
  TensorTable(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected, const Style& style)
      : out_(out), model_(model), style_(style) {
    several_files_ = model.set.files.size() > 1;
    for (const u32 place : selected) {
      const Tensor& tensor = model.set.tensor(model.set.listed(place));
      dtype_ = std::max(dtype_, std::min<std::size_t>(tensor.dtype.size(), 11));
      shape_ = std::max(shape_, std::min(shape_width(tensor.shape), widest_shape));
      bytes_ = std::max(bytes_, tensor.bytes());
      end_ = std::max({end_, tensor.begin, tensor.end});
    }
    for (const safetensors::ShardFile& file : model.set.files) {
      file_ = std::max(file_, std::min(file.base_name.size(), widest_file));
    }
    bytes_ = std::max<u64>(digits_of(bytes_), 5);
    end_ = std::max<u64>(digits_of(end_), 5);
  }

  void heading() {
    line_ = "  dtype";
    pad_to(line_, 2 + dtype_ + 2);
    line_ += "shape";
    pad_to(line_, 2 + dtype_ + 2 + shape_ + 2);
    line_ += fmt::format("{:>{}}  {:>{}} {:<{}}  ", "bytes", bytes_, "begin", end_, "end", end_);
    if (several_files_) line_ += fmt::format("{:<{}}  ", "file", file_);
    out_ << painted_words(style_, Paint::heading, line_ + "name") << "\n";
  }

  void row(u32 place) {
    const TensorRef ref = model_.set.listed(place);
    const Tensor& tensor = model_.set.tensor(ref);
    line_ = "  ";
    append_escaped(line_, tensor.dtype);
    if (!tensor.type) line_ += " (unknown)";
    const std::size_t dtype_end = line_.size();
    pad_to(line_, 2 + dtype_);
    paint(type_paint(tensor.type), 2, dtype_end);
    const std::size_t at = line_.size() + 2;
    line_ += "  ";
    append_shape(line_, tensor.shape);
    pad_to(line_, at + shape_);
    line_ += "  ";
    append_right(line_, tensor.bytes(), bytes_);
    line_ += "  ";
    const std::size_t begin_at = line_.size();
    append_right(line_, tensor.begin, end_);
    line_ += ' ';
    const std::size_t end_at = line_.size();
    append_number(line_, tensor.end);
    pad_to(line_, end_at + end_);
    paint(Paint::faint, begin_at, line_.size());
    line_ += "  ";
    if (several_files_) {
      const std::size_t file_at = line_.size();
      append_escaped(line_, model_.set.file(ref).base_name);
      pad_to(line_, file_at + file_);
      paint(Paint::faint, file_at, line_.size());
      line_ += "  ";
    }
    append_escaped(line_, tensor.name);
    line_ += '\n';
    out_ << line_;
  }

 private:
  void paint(Paint paint, std::size_t begin, std::size_t end) {
    if (!style_.color()) return;
    line_.replace(begin, end - begin, style_(paint, std::string_view(line_).substr(begin, end - begin)));
  }

  TextOutput& out_;
  const SafetensorsModel& model_;
  const Style& style_;
  bool several_files_ = false;
  std::size_t dtype_ = 5;
  std::size_t shape_ = 5;
  std::size_t file_ = 4;
  u64 bytes_ = 0;  // largest number, then its width
  u64 end_ = 0;
  std::string line_;
};

std::string params_text(const mlx::Params& params) {
  return fmt::format("{} {}-bit, group {}", mlx::mode_name(params.mode), params.bits, params.group_size);
}

// "layers 2, embedding 256, heads 8 (2 key/value), …": what config.json states.
std::string sizes_text(const hf::Config& config) {
  std::string text;
  const auto add = [&](std::string_view what, const std::optional<u64>& number) {
    if (number) fmt::format_to(std::back_inserter(text), "{}{} {}", text.empty() ? "" : ", ", what, *number);
  };
  add("layers", config.block_count);
  add("embedding", config.embedding_length);
  add("heads", config.head_count);
  if (config.head_count && config.head_count_kv) text += fmt::format(" ({} key/value)", *config.head_count_kv);
  add("head size", config.head_dim);
  add("feed-forward", config.feed_forward_length);
  add("experts", config.expert_count);
  add("vocabulary", config.vocab_size);
  add("context", config.context_length);
  return text;
}

void write_quantization(TextOutput& out, const SafetensorsModel& model, const Style& style) {
  if (!model.quantization.foreign_method.empty()) {
    out << label_text(style, "quantised")
        << fmt::format("by {} (not MLX)\n", escape(model.quantization.foreign_method));
  }
  std::map<std::string, u64> forms;
  for (const mlx::Module& module : model.modules.list) {
    if (module.quantized)
      ++forms[module.params ? params_text(*module.params) : "in a form that config.json does not tell"];
  }
  std::string_view label = "quantised";
  for (const auto& [form, modules] : forms) {
    out << label_text(style, label)
        << fmt::format("{}: {} of {}\n", form, modules, counted(model.modules.list.size(), "module"));
    label = "";
  }
}

void write_summary(TextOutput& out, const SafetensorsModel& model, const Style& style) {
  std::string_view kind = model.set.is_directory ? "directory of safetensors files" : "safetensors";
  if (model.is_model_directory()) {
    kind = model.quantization.declared ? "MLX model, quantised" : is_mlx(model) ? "MLX model" : "Hugging Face model";
  }
  out << style(Paint::title, escape(model.set.path)) << ": " << kind << "\n";
  if (model.config && model.is_model_directory()) {
    const hf::Config& config = *model.config;
    const std::string& name = config.architecture.empty() ? config.model_type : config.architecture;
    if (!name.empty()) out << label_text(style, "architecture") << escape(name) << "\n";
    if (const std::string sizes = sizes_text(config); !sizes.empty())
      out << label_text(style, "sizes") << sizes << "\n";
    write_quantization(out, model, style);
  }
  u64 bytes = 0;
  for (const TensorRef ref : model.set.tensors) bytes += model.set.tensor(ref).bytes();
  const u64 parameters = parameter_count(model);
  out << label_text(style, "parameters") << fmt::format("{} ({})", thousands(parameters), count_text(parameters));
  // Of packed weights without usable settings nobody knows how many elements they hold.
  const bool unknown = std::ranges::any_of(
      model.modules.list, [](const mlx::Module& module) { return module.quantized && !module.decodable; });
  if (unknown) {
    out << ", packed weights counted as stored: config.json does not tell how to unpack them";
  } else if (parameters != 0) {
    out << fmt::format(", {} bits per weight",
                       bits_text(8.0 * static_cast<double>(bytes) / static_cast<double>(parameters)));
  }
  out << "\n" << label_text(style, "tensors");
  out << fmt::format("{}, {}\n", thousands(model.set.tensors.size()), byte_text(bytes));
}

void write_files(TextOutput& out, const SafetensorsModel& model, const Style& style) {
  out << "\n" << style(Paint::title, "files") << "\n";
  for (const safetensors::ShardFile& file : model.set.files) {
    const safetensors::Document& document = file.document;
    out << fmt::format("  {}  header {}, {}, {}\n", escape(file.base_name), counted(document.header_bytes, "byte"),
                       document.file_size ? "file " + counted(*document.file_size, "byte") : "size unknown",
                       counted(document.tensors.size(), "tensor"));
  }
}

void write_metadata(TextOutput& out, const SafetensorsModel& model, const Style& style) {
  const std::vector<safetensors::MetadataEntry> metadata = model.set.metadata();
  if (metadata.empty()) return;
  out << "\n" << style(Paint::title, "metadata") << "\n";
  for (const safetensors::MetadataEntry& entry : metadata) {
    out << "  " << style(Paint::label, escape(entry.key)) << " = "
        << style(Paint::text, escape(entry.value, value_columns)) << "\n";
  }
}

void write_types(TextOutput& out, const SafetensorsModel& model, const Style& style) {
  struct Total {
    std::optional<TensorType> type;
    u64 tensors = 0;
    u64 bytes = 0;
  };
  std::map<std::string_view, Total> totals;
  Total* total = nullptr;
  std::string_view of;
  for (const TensorRef ref : model.set.tensors) {
    const Tensor& tensor = model.set.tensor(ref);
    if (total == nullptr || tensor.dtype != of) {
      total = &totals[tensor.dtype];
      of = tensor.dtype;
      total->type = tensor.type;
    }
    ++total->tensors;
    total->bytes += tensor.bytes();
  }
  if (totals.empty()) return;
  out << "\n" << style(Paint::title, "dtypes") << "\n";
  for (const auto& [dtype, sum] : totals) {
    const std::string name = escape(dtype);
    out << "  " << style(type_paint(sum.type), name) << std::string(11 - std::min<std::size_t>(name.size(), 11), ' ');
    out << fmt::format(" {:>8} {:<7}  {:>16} {}\n", sum.tensors, sum.tensors == 1 ? "tensor" : "tensors", sum.bytes,
                       sum.bytes == 1 ? "byte" : "bytes");
  }
}

}  // namespace

void write_st_text(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected,
                   const Style& style) {
  write_summary(out, model, style);
  write_files(out, model, style);
  write_metadata(out, model, style);
  write_types(out, model, style);
  if (selected.empty()) return;
  TensorTable table(out, model, selected, style);
  out << "\n" << style(Paint::title, "tensors") << "\n";
  table.heading();
  if (!model.set.is_directory && !model.set.index) {
    for (const u32 place : selected) table.row(place);
    return;
  }
  for (const LayerGroup& group : group_by_layer(model, selected)) {
    if (!group.title.empty()) out << style(Paint::label, escape(group.title)) << "\n";
    for (const u32 place : group.tensors) table.row(place);
  }
}

void write_st_modules(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected,
                      const Style& style) {
  std::vector<bool> shown(model.set.listed_count());
  for (const u32 place : selected) shown[place] = true;
  out << painted_words(style, Paint::heading,
                       fmt::format("{:<8} {:>4} {:>5}  {:<24} {}", "mode", "bits", "group", "shape", "module"))
      << "\n";
  for (const mlx::Module& module : model.modules.list) {
    if (!shown[module.weight]) continue;
    std::string form = fmt::format("{:<8} {:>4} {:>5}", module.quantized ? "?" : "-", "-", "-");
    Paint paint = module.quantized ? Paint::bad : Paint::faint;
    if (module.params) {
      form = fmt::format("{:<8} {:>4} {:>5}", mlx::mode_name(module.params->mode), module.params->bits,
                         module.params->group_size);
      paint = bits_paint(module.params->bits);
    }
    std::string shape;
    append_shape(shape, module.shape);
    out << painted_words(style, paint, form) << fmt::format("  {:<24} ", shape) << escape(module.path) << "\n";
  }
}

}  // namespace modelutils

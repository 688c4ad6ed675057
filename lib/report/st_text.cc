#include "report/st_text.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <string>

#include <fmt/format.h>
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

void append(std::string& out, u64 number) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  out.append(digits, end);
}

void pad_to(std::string& out, std::size_t column) {
  if (out.size() < column) out.append(column - out.size(), ' ');
}

void append_right(std::string& out, u64 number, std::size_t width) {
  const std::size_t digits = digits_of(number);
  if (digits < width) out.append(width - digits, ' ');
  append(out, number);
}

void append_shape(std::string& out, std::span<const u64> shape) {
  out += '[';
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i != 0) out += ", ";
    append(out, shape[i]);
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

// The table of tensors: dtype, shape, bytes, place in the file's data, file (if there are several), name.
class TensorTable {
 public:
  TensorTable(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected)
      : out_(out), model_(model) {
    several_files_ = model.set.files.size() > 1;
    for (const u32 place : selected) {
      const Tensor& tensor = model.set.tensor(model.set.tensors[place]);
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
    line_ += "name\n";
    out_ << line_;
  }

  void row(u32 place) {
    const TensorRef ref = model_.set.tensors[place];
    const Tensor& tensor = model_.set.tensor(ref);
    line_ = "  ";
    append_escaped(line_, tensor.dtype);
    if (!tensor.type) line_ += " (unknown)";
    pad_to(line_, 2 + dtype_);
    const std::size_t at = line_.size() + 2;
    line_ += "  ";
    append_shape(line_, tensor.shape);
    pad_to(line_, at + shape_);
    line_ += "  ";
    append_right(line_, tensor.bytes(), bytes_);
    line_ += "  ";
    append_right(line_, tensor.begin, end_);
    line_ += ' ';
    const std::size_t end_at = line_.size();
    append(line_, tensor.end);
    pad_to(line_, end_at + end_);
    line_ += "  ";
    if (several_files_) {
      const std::size_t file_at = line_.size();
      append_escaped(line_, model_.set.file(ref).base_name);
      pad_to(line_, file_at + file_);
      line_ += "  ";
    }
    append_escaped(line_, tensor.name);
    line_ += '\n';
    out_ << line_;
  }

 private:
  TextOutput& out_;
  const SafetensorsModel& model_;
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

void write_quantization(TextOutput& out, const SafetensorsModel& model) {
  if (!model.quantization.foreign_method.empty()) {
    out << fmt::format("  quantised      by {} (not MLX)\n", escape(model.quantization.foreign_method));
  }
  std::map<std::string, u64> forms;
  for (const mlx::Module& module : model.modules.list) {
    if (module.quantized)
      ++forms[module.params ? params_text(*module.params) : "in a form that config.json does not tell"];
  }
  std::string_view label = "quantised";
  for (const auto& [form, modules] : forms) {
    out << fmt::format("  {:<14} {}: {} of {} modules\n", label, form, modules, model.modules.list.size());
    label = "";
  }
}

void write_summary(TextOutput& out, const SafetensorsModel& model) {
  std::string_view kind = model.set.is_directory ? "directory of safetensors files" : "safetensors";
  if (model.is_model_directory()) {
    kind = model.quantization.declared ? "MLX model, quantised" : is_mlx(model) ? "MLX model" : "Hugging Face model";
  }
  out << escape(model.set.path) << ": " << kind << "\n";
  if (model.config && model.is_model_directory()) {
    const hf::Config& config = *model.config;
    const std::string& name = config.architecture.empty() ? config.model_type : config.architecture;
    if (!name.empty()) out << "  architecture   " << escape(name) << "\n";
    if (const std::string sizes = sizes_text(config); !sizes.empty()) out << "  sizes          " << sizes << "\n";
    write_quantization(out, model);
  }
  u64 bytes = 0;
  for (const TensorRef ref : model.set.tensors) bytes += model.set.tensor(ref).bytes();
  const u64 parameters = parameter_count(model);
  out << fmt::format("  parameters     {} ({})", thousands(parameters), count_text(parameters));
  // Of packed weights without usable settings nobody knows how many elements they hold.
  const bool unknown = std::ranges::any_of(
      model.modules.list, [](const mlx::Module& module) { return module.quantized && !module.decodable; });
  if (unknown) {
    out << ", packed weights counted as stored: config.json does not tell how to unpack them";
  } else if (parameters != 0) {
    out << fmt::format(", {} bits per weight",
                       bits_text(8.0 * static_cast<double>(bytes) / static_cast<double>(parameters)));
  }
  out << fmt::format("\n  tensors        {}, {}\n", thousands(model.set.tensors.size()), byte_text(bytes));
}

void write_files(TextOutput& out, const SafetensorsModel& model) {
  out << "\nfiles\n";
  for (const safetensors::ShardFile& file : model.set.files) {
    const safetensors::Document& document = file.document;
    out << fmt::format("  {}  header {} bytes, {}, {} tensors\n", escape(file.base_name), document.header_bytes,
                       document.file_size ? fmt::format("file {} bytes", *document.file_size) : "size unknown",
                       document.tensors.size());
  }
}

void write_metadata(TextOutput& out, const SafetensorsModel& model) {
  const std::vector<safetensors::MetadataEntry> metadata = model.set.metadata();
  if (metadata.empty()) return;
  out << "\nmetadata\n";
  for (const safetensors::MetadataEntry& entry : metadata) {
    out << "  " << escape(entry.key) << " = " << escape(entry.value, value_columns) << "\n";
  }
}

void write_types(TextOutput& out, const SafetensorsModel& model) {
  struct Total {
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
    }
    ++total->tensors;
    total->bytes += tensor.bytes();
  }
  if (totals.empty()) return;
  out << "\ndtypes\n";
  for (const auto& [dtype, sum] : totals) {
    out << fmt::format("  {:<11} {:>8} tensors  {:>16} bytes\n", escape(dtype), sum.tensors, sum.bytes);
  }
}

}  // namespace

void write_st_text(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected) {
  write_summary(out, model);
  write_files(out, model);
  write_metadata(out, model);
  write_types(out, model);
  if (selected.empty()) return;
  TensorTable table(out, model, selected);
  out << "\ntensors\n";
  table.heading();
  if (!model.set.is_directory && !model.set.index) {
    for (const u32 place : selected) table.row(place);
    return;
  }
  for (const LayerGroup& group : group_by_layer(model, selected)) {
    if (!group.title.empty()) out << escape(group.title) << "\n";
    for (const u32 place : group.tensors) table.row(place);
  }
}

void write_st_modules(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected) {
  std::vector<bool> shown(model.set.tensors.size());
  for (const u32 place : selected) shown[place] = true;
  out << fmt::format("{:<8} {:>4} {:>5}  {:<24} {}\n", "mode", "bits", "group", "shape", "module");
  for (const mlx::Module& module : model.modules.list) {
    if (!shown[module.weight]) continue;
    std::string shape;
    append_shape(shape, module.shape);
    if (module.params) {
      out << fmt::format("{:<8} {:>4} {:>5}  {:<24} ", mlx::mode_name(module.params->mode), module.params->bits,
                         module.params->group_size, shape);
    } else {
      out << fmt::format("{:<8} {:>4} {:>5}  {:<24} ", module.quantized ? "?" : "-", "-", "-", shape);
    }
    out << escape(module.path) << "\n";
  }
}

}  // namespace modelutils

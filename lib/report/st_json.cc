#include "report/st_json.h"

#include <array>
#include <charconv>
#include <iterator>

#include "base/checked_math.h"
#include "base/escape.h"
#include "base/utf8.h"
#include "fmt/format.h"
#include "json/writer.h"

namespace modelutils {

namespace {

using safetensors::Tensor;
using safetensors::TensorRef;

// A file may have a hundred thousand tensors: their entries are put together here, everything else by json::Writer.
void append(std::string& out, u64 number) {
  char digits[24];
  const auto end = std::to_chars(std::begin(digits), std::end(digits), number).ptr;
  out.append(digits, end);
}

void append_array(std::string& out, std::span<const u64> numbers) {
  out += '[';
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i != 0) out += ',';
    append(out, numbers[i]);
  }
  out += ']';
}

void append_string(std::string& out, std::string_view text) {
  if (is_utf8(text)) {
    out += '"';
    append_json_escaped(out, text);
    out += '"';
    return;
  }
  out += R"({"base64":")";
  out += base64(text);
  out += R"("})";
}

// As a member's name, which cannot be an object.
void append_name(std::string& out, std::string_view text) {
  if (is_utf8(text)) {
    out += '"';
    append_json_escaped(out, text);
    out += '"';
    return;
  }
  json::Writer writer;
  writer.begin_object();
  writer.key(text);
  writer.null();
  writer.end_object();
  const std::string_view object = writer.text();  // {"…":null}
  out += object.substr(1, object.size() - 7);
}

void append_files(std::string& out, const SafetensorsModel& model) {
  out += R"(,"files":[)";
  bool first = true;
  for (const safetensors::ShardFile& file : model.set.files) {
    if (!first) out += ',';
    first = false;
    out += R"({"name":)";
    append_string(out, file.base_name);
    out += R"(,"header_bytes":)";
    append(out, file.document.header_bytes);
    out += R"(,"file_size":)";
    if (file.document.file_size) {
      append(out, *file.document.file_size);
    } else {
      out += "null";
    }
    out += '}';
  }
  out += ']';
}

void append_metadata(std::string& out, const SafetensorsModel& model) {
  out += R"(,"metadata":{)";
  bool first = true;
  for (const safetensors::MetadataEntry& entry : model.set.metadata()) {
    if (!first) out += ',';
    first = false;
    append_name(out, entry.key);
    out += ':';
    append_string(out, entry.value);
  }
  out += '}';
}

void write_tensors(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected) {
  std::vector<std::string> files;  // each file's name as a JSON value
  for (const safetensors::ShardFile& file : model.set.files) {
    std::string name;
    append_string(name, file.base_name);
    files.push_back(std::move(name));
  }
  std::string text = R"(,"tensors":{)";
  for (std::size_t i = 0; i < selected.size(); ++i) {
    const TensorRef ref = model.set.tensors[selected[i]];
    const Tensor& tensor = model.set.tensor(ref);
    if (i != 0) text += ',';
    append_name(text, tensor.name);
    text += R"(:{"dtype":)";
    append_string(text, tensor.dtype);
    text += R"(,"shape":)";
    append_array(text, tensor.shape);
    text += R"(,"data_offsets":)";
    append_array(text, std::array{tensor.begin, tensor.end});
    text += R"(,"file":)";
    text += files[ref.file];
    text += R"(,"bytes":)";
    append(text, tensor.bytes());
    text += '}';
    if (text.size() > 32 * 1024) {
      out << text;
      text.clear();
    }
  }
  out << text << "}";
}

void write_modules(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected) {
  std::vector<bool> shown(model.set.tensors.size());
  for (const u32 tensor : selected) shown[tensor] = true;
  std::string text = R"(,"modules":{)";
  bool first = true;
  for (const mlx::Module& module : model.modules.list) {
    if (!shown[module.weight]) continue;
    if (!first) text += ',';
    first = false;
    append_name(text, module.path);
    text += module.quantized ? R"(:{"quantized":true)" : R"(:{"quantized":false)";
    if (module.params) {
      text += fmt::format(R"(,"mode":"{}","bits":{},"group_size":{})", mlx::mode_name(module.params->mode),
                          module.params->bits, module.params->group_size);
    } else {
      text += R"(,"mode":null,"bits":null,"group_size":null)";
    }
    text += R"(,"shape":)";
    append_array(text, module.shape);
    text += '}';
    if (text.size() > 32 * 1024) {
      out << text;
      text.clear();
    }
  }
  out << text << "}";
}

template <typename AppendRow>
void write_rows(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected, std::string text,
                AppendRow&& append_row) {
  const std::vector<u64> parameters = parameters_of_tensors(model);
  for (const u32 place : selected) {
    const TensorRef ref = model.set.tensors[place];
    append_row(text, place, ref, model.set.tensor(ref), parameters[place]);
    if (text.size() > 32 * 1024) {
      out << text;
      text.clear();
    }
  }
  out << text;
}

u64 absolute_offset(const SafetensorsModel& model, TensorRef ref) {
  return checked_add(model.set.file(ref).document.data_offset, model.set.tensor(ref).begin).value_or(~u64{0});
}

}  // namespace

void write_st_json(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected, bool modules) {
  std::string text = R"({"schema":"st-dump/1","path":)";
  append_string(text, model.set.path);
  append_metadata(text, model);
  append_files(text, model);
  out << text;
  write_tensors(out, model, selected);
  out << fmt::format(R"(,"parameters":{})", parameter_count(model));
  if (modules) write_modules(out, model, selected);
  out << "}\n";
}

void write_st_csv(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected) {
  write_rows(out, model, selected, "index,name,type,shape,parameters,bytes,offset,data_offset\n",
             [&](std::string& text, u32 place, TensorRef ref, const Tensor& tensor, u64 parameters) {
               fmt::format_to(std::back_inserter(text), "{},{},{},{},{},{},{},{}\n", place, csv_field(tensor.name),
                              csv_field(tensor.dtype), fmt::join(tensor.shape, "x"), parameters, tensor.bytes(),
                              tensor.begin, absolute_offset(model, ref));
             });
}

void write_st_jsonl(TextOutput& out, const SafetensorsModel& model, const std::vector<u32>& selected) {
  write_rows(out, model, selected, "",
             [&](std::string& text, u32 place, TensorRef ref, const Tensor& tensor, u64 parameters) {
               text += R"({"index":)";
               append(text, place);
               text += R"(,"name":)";
               append_string(text, tensor.name);
               text += R"(,"type":)";
               append_string(text, tensor.dtype);
               text += R"(,"shape":)";
               append_array(text, tensor.shape);
               text += fmt::format(R"(,"parameters":{},"bytes":{},"offset":{},"data_offset":{},"file":)", parameters,
                                   tensor.bytes(), tensor.begin, absolute_offset(model, ref));
               append_string(text, model.set.file(ref).base_name);
               text += "}\n";
             });
}

}  // namespace modelutils

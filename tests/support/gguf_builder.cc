#include "support/gguf_builder.h"

namespace modelutils::test {

namespace {

u64 padding_size(u64 size, u64 alignment) {
  return alignment == 0 ? 0 : (alignment - size % alignment) % alignment;
}

}  // namespace

GgufBuilder& GgufBuilder::key_with(std::string_view key, Encoder value) {
  keys_.push_back([key = std::string(key), value = std::move(value)](const GgufBuilder& file, std::string& out) {
    file.put_text(out, key);
    value(file, out);
  });
  return *this;
}

void GgufBuilder::put_length(std::string& out, u64 length) const {
  if (version_ == 1) {
    put<u32>(out, static_cast<u32>(length));
  } else {
    put<u64>(out, length);
  }
}

GgufBuilder& GgufBuilder::key_bool(std::string_view key, u8 byte) {
  return key_with(key, [=](const GgufBuilder& file, std::string& out) {
    file.put<u32>(out, 7);
    file.put<u8>(out, byte);
  });
}

GgufBuilder& GgufBuilder::key_string(std::string_view key, std::string_view value) {
  return key_with(key, [text = std::string(value)](const GgufBuilder& file, std::string& out) {
    file.put<u32>(out, 8);
    file.put_text(out, text);
  });
}

GgufBuilder& GgufBuilder::key_strings(std::string_view key, const std::vector<std::string>& values) {
  return key_with(key, [=](const GgufBuilder& file, std::string& out) {
    file.put<u32>(out, 9);
    file.put<u32>(out, 8);
    file.put_length(out, values.size());
    for (const std::string& value : values) file.put_text(out, value);
  });
}

GgufBuilder& GgufBuilder::key_bools(std::string_view key, const std::vector<u8>& bytes) {
  return key_raw_array(key, 7, bytes.size(), std::string(bytes.begin(), bytes.end()));
}

GgufBuilder& GgufBuilder::key_raw_array(std::string_view key, u32 element_type, u64 count, std::string bytes) {
  return key_with(key, [=, bytes = std::move(bytes)](const GgufBuilder& file, std::string& out) {
    file.put<u32>(out, 9);
    file.put<u32>(out, element_type);
    file.put_length(out, count);
    out += bytes;
  });
}

GgufBuilder& GgufBuilder::key_raw(std::string_view key, u32 type, std::string bytes) {
  return key_with(key, [=, bytes = std::move(bytes)](const GgufBuilder& file, std::string& out) {
    file.put<u32>(out, type);
    out += bytes;
  });
}

GgufBuilder& GgufBuilder::raw_record(std::string bytes) {
  keys_.push_back([bytes = std::move(bytes)](const GgufBuilder&, std::string& out) { out += bytes; });
  return *this;
}

GgufBuilder& GgufBuilder::f32_tensor(std::string name, std::vector<u64> ne) {
  u64 count = 1;
  for (const u64 dim : ne) count *= dim;
  std::string data;
  for (u64 i = 0; i < count; ++i) put<float>(data, static_cast<float>(i));
  return tensor({.name = std::move(name), .ne = std::move(ne), .type = 0, .data = std::move(data)});
}

std::string GgufBuilder::build_header() const {
  std::string out = magic_;
  put<u32>(out, version_);
  put_length(out, tensor_count_.value_or(tensors_.size()));
  put_length(out, kv_count_.value_or(keys_.size()));
  for (const Encoder& key : keys_) key(*this, out);
  u64 next = 0;
  for (const BuilderTensor& tensor : tensors_) {
    put_length(out, tensor.name_length.value_or(tensor.name.size()));
    out += tensor.name;
    put<u32>(out, tensor.n_dims.value_or(static_cast<u32>(tensor.ne.size())));
    for (const u64 dim : tensor.ne) put_length(out, dim);
    put<u32>(out, tensor.type);
    put<u64>(out, tensor.offset.value_or(next));
    next += tensor.data.size() + padding_size(tensor.data.size(), alignment_);
  }
  return out;
}

std::string GgufBuilder::build() const {
  std::string out = build_header();
  if (header_padding_) out.append(padding_size(out.size(), alignment_), padding_);
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::string& data = tensors_[i].data;
    out += data;
    if (i + 1 < tensors_.size() || end_padding_) out.append(padding_size(data.size(), alignment_), padding_);
  }
  return out + trailing_;
}

std::shared_ptr<MemoryFile> GgufBuilder::source(std::string name) const {
  const std::string file = build();
  const auto bytes = std::as_bytes(std::span(file));
  return std::make_shared<MemoryFile>(std::vector<std::byte>(bytes.begin(), bytes.end()), std::move(name));
}

}  // namespace modelutils::test

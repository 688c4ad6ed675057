#include "convert/general_keys.h"

#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/path.h"
#include "base/utf8.h"

namespace modelutils::convert {

namespace {

std::string scaled_count(double count) {
  static constexpr std::array<std::pair<double, const char*>, 4> units = {
      {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}, {1e3, "K"}}};
  double scaled = count / 1e3;
  std::string_view unit = "K";
  for (const auto& [size, name] : units) {
    if (count > size) {
      scaled = count / size;
      unit = name;
      break;
    }
  }
  const std::string whole = fmt::format("{:.0f}", scaled);
  const std::size_t digits = whole == "0" ? 0 : whole.size();
  return fmt::format("{:.{}f}{}", scaled, digits < 2 ? 2 - digits : 0, unit);
}

}  // namespace

std::string size_label(u64 parameters, u64 expert_parameters, u64 n_expert) {
  if (n_expert == 0) return scaled_count(static_cast<double>(parameters));
  const u64 one = (parameters - expert_parameters) + expert_parameters / n_expert;
  return fmt::format("{}x{}", n_expert, scaled_count(static_cast<double>(one)));
}

std::vector<gguf::OutKey> general_keys(const GeneralFacts& facts) {
  std::vector<gguf::OutKey> keys;
  keys.push_back(gguf::make_key_string("general.architecture", facts.architecture));
  keys.push_back(gguf::make_key_string("general.type", "model"));
  if (!facts.name.empty()) keys.push_back(gguf::make_key_string("general.name", facts.name));
  keys.push_back(gguf::make_key_string("general.size_label",
                                       size_label(facts.parameters, facts.expert_parameters, facts.n_expert)));
  keys.push_back(gguf::make_key("general.file_type", facts.file_type));
  if (facts.has_quantized) keys.push_back(gguf::make_key("general.quantization_version", u32{2}));
  return keys;
}

std::string name_from_directory(const std::string& directory) {
  std::string path = directory;
  if (char* real = ::realpath(directory.c_str(), nullptr); real != nullptr) {
    path = real;
    ::free(real);
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  std::string name = base_name_of(path);
  if (!is_utf8(name)) return {};
  static constexpr std::array endings = {"-mlx",  "-2bit", "-3bit", "-4bit", "-5bit",  "-6bit",  "-8bit", "-bf16",
                                         "-fp16", "-f16",  "-fp32", "-f32",  "-mxfp4", "-nvfp4", "-mxfp8"};
  for (bool again = true; again;) {
    again = false;
    for (std::string_view ending : endings) {
      if (name.size() <= ending.size()) continue;
      std::string tail = name.substr(name.size() - ending.size());
      std::transform(tail.begin(), tail.end(), tail.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
      if (tail == ending) {
        name.resize(name.size() - ending.size());
        again = true;
      }
    }
  }
  return name;
}

u32 file_type_code(TensorType type) {
  switch (type) {
    case TensorType::F16: return 1;
    case TensorType::Q4_0: return 2;
    case TensorType::Q4_1: return 3;
    case TensorType::Q8_0: return 7;
    case TensorType::Q5_0: return 8;
    case TensorType::Q5_1: return 9;
    case TensorType::BF16: return 32;
    case TensorType::MXFP4: return 38;
    case TensorType::NVFP4: return 39;
    case TensorType::Q1_0: return 40;
    case TensorType::Q2_0: return 41;
    default: return 0;
  }
}

}  // namespace modelutils::convert

// Tokenizes texts with the vocabulary of one GGUF, for comparisons with llama.cpp.
//   encode_texts MODEL.gguf [--parse-special]    standard input: texts, each after its size (4 bytes, little-endian)
// Standard output: for each text a line of ids, or "error CODE", then a tab and the text of these tokens in
// hexadecimal.
#include <fmt/core.h>

#include <cstdio>
#include <cstring>
#include <iostream>
#include <iterator>
#include <string>

#include "formats/gguf/split_set.h"
#include "tokenizer/encode/encoder.h"

namespace {

using namespace modelutils;

Result<tokenizer::Encoder> load(const char* path) {
  MU_ASSIGN(const gguf::SplitSet set, gguf::open_set(path));
  MU_ASSIGN(tokenizer::EncodeKeys keys, tokenizer::read_encode_keys(set));
  return tokenizer::Encoder::make(std::move(keys));
}

void print(const tokenizer::Encoder& encoder, const Result<std::vector<u32>>& ids) {
  std::string line;
  if (!ids) {
    line = "error " + ids.error().code;
  } else {
    for (const u32 id : *ids) line += (line.empty() ? "" : " ") + std::to_string(id);
    line += '\t';
    for (const char c : encoder.decode(*ids)) line += fmt::format("{:02x}", static_cast<u8>(c));
  }
  line += '\n';
  std::cout.write(line.data(), static_cast<std::streamsize>(line.size()));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const auto encoder = load(argv[1]);
  if (!encoder) {
    std::cerr << encoder.error().code << ": " << encoder.error().message << "\n";
    return 3;
  }
  const bool parses = argc > 2 && std::strcmp(argv[2], "--parse-special") == 0;
  std::ios::sync_with_stdio(false);
  const std::string input((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  for (std::size_t at = 0; at + 4 <= input.size();) {
    u32 size = 0;
    std::memcpy(&size, input.data() + at, 4);
    at += 4;
    const std::string_view text = std::string_view(input).substr(at, size);
    print(*encoder, encoder->encode(text, {false, parses}));
    at += text.size();
  }
  return 0;
}

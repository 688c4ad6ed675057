// A vocabulary and a text from the same bytes -> tokens and their text. Must not fail, whatever the keys are.
#include <algorithm>
#include <string>

#include "tokenizer/encode/encoder.h"

using namespace modelutils;

namespace {

constexpr std::string_view models[] = {"gpt2", "llama", "bert", "t5", "rwkv", "plamo2", "gemma4", "whitespace"};
constexpr std::string_view pres[] = {"",        "gpt-2",      "llama-bpe",  "qwen2",  "deepseek-llm", "gpt-4o",
                                     "kimi-k2", "superbpe",   "exaone-moe", "afmoe",  "jais-2",       "chameleon",
                                     "falcon",  "sarvam-moe", "tekken",     "unknown"};

std::string_view line(std::string_view& rest) {
  const std::size_t end = std::min(rest.find('\n'), rest.size());
  const std::string_view one = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return one;
}

}  // namespace

// Two bytes for the model and the pre-tokenizer, then lines: a type and a token, an empty one, merges, an empty one,
// the text. After a zero byte, the text ends with the map of characters of a Unigram vocabulary.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  tokenizer::EncodeKeys keys;
  keys.model = models[data[0] % std::size(models)];
  keys.pre = pres[data[1] % std::size(pres)];
  keys.has_merges = true;
  keys.special.unk = keys.special.bos = keys.special.eos = 0;
  keys.add_space_prefix = data[0] >= 128;
  keys.remove_extra_whitespaces = data[1] >= 128;
  for (std::string_view one = line(rest); !one.empty(); one = line(rest)) {
    keys.types.push_back((one[0] - '0') % 7);
    keys.scores.push_back(-static_cast<float>(static_cast<u8>(one[0]) / 7));
    keys.tokens.emplace_back(one.substr(1));
  }
  for (std::string_view one = line(rest); !one.empty(); one = line(rest)) keys.merges.emplace_back(one);
  if (keys.tokens.empty()) return 0;
  const std::string_view map = rest.substr(std::min(rest.find('\0'), rest.size() - 1) + 1);
  if (tokenizer::check_charsmap(map)) {
    keys.charsmap = map;
    rest.remove_suffix(map.size());
  }
  const auto encoder = tokenizer::Encoder::make(std::move(keys));
  if (!encoder) return 0;
  for (const bool special : {false, true}) {
    const auto ids = encoder->encode(rest, {special, special});
    if (!ids) continue;
    for (const u32 id : *ids) {
      if (id >= encoder->size()) __builtin_trap();
    }
    (void)encoder->decode(*ids);
  }
  return 0;
}

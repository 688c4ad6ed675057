// Real vocabularies from published GGUF files: rebuilds the tokenizer files they came from, reads them, and compares.
#include <algorithm>
#include <map>
#include <queue>
#include <set>

#include "base/utf8.h"
#include "formats/gguf/document.h"
#include "formats/gguf/parse.h"
#include "io/random_access_file.h"
#include "support/temp_dir.h"
#include "tokenizer_fixture.h"

namespace modelutils {
namespace {

using test::number;
using test::TokenizerJson;
using tokenizer::TokenType;

const std::string space_mark = "\u2581";

// The tokenizer in a GGUF file.
struct Original {
  std::vector<std::string> tokens, merges;
  std::vector<i32> types;
  std::vector<float> scores;
  std::string pre;
};

Original load(const std::string& name) {
  const auto file = RandomAccessFile::open(test::shared_dir() + "/corpus/gguf-real/" + name);
  EXPECT_TRUE(file);
  const auto document = gguf::parse(**file);
  EXPECT_TRUE(document);
  const gguf::Index index(*document);
  Original original;
  const auto array = [&](const char* key) { return index.array_value(key); };
  original.tokens = *gguf::read_strings(**file, *document, *array("tokenizer.ggml.tokens"));
  const auto types = gguf::read_numbers<i64>(**file, *document, *array("tokenizer.ggml.token_type"));
  original.types.assign(types->begin(), types->end());
  if (array("tokenizer.ggml.merges")) {
    original.merges = *gguf::read_strings(**file, *document, *array("tokenizer.ggml.merges"));
  }
  if (array("tokenizer.ggml.scores")) {
    const auto scores = gguf::read_numbers<double>(**file, *document, *array("tokenizer.ggml.scores"));
    for (const double score : *scores) original.scores.push_back(static_cast<float>(score));
  }
  original.pre = index.string_value("tokenizer.ggml.pre").value_or("");
  return original;
}

bool is_padding(const Original& original, std::size_t id) {
  return original.tokens[id] == "[PAD" + std::to_string(id) + "]";
}

// The type by current rules, which some older files contradict: padding is unused, and texts that look special are
// control.
i32 type_by_rule(const Original& original, std::size_t id) {
  if (is_padding(original, id)) return number(TokenType::unused);
  const i32 type = original.types[id];
  const bool enclosed = (original.tokens[id].starts_with("<|") && original.tokens[id].ends_with("|>")) ||
                        (original.tokens[id].starts_with("<\uff5c") && original.tokens[id].ends_with("\uff5c>")) ||
                        original.tokens[id] == "<pad>";
  return type == number(TokenType::user_defined) && enclosed ? number(TokenType::control) : type;
}

TokenizerJson rebuild_byte_level(const Original& original) {
  TokenizerJson json;
  json.decoder_json = test::byte_level_json(true);
  for (std::size_t id = 0; id < original.tokens.size(); ++id) {
    if (is_padding(original, id)) continue;
    const i32 type = original.types[id];
    if (type == number(TokenType::normal)) {
      json.vocab.emplace_back(original.tokens[id], static_cast<i64>(id));
    } else {
      json.added.push_back({static_cast<i64>(id), original.tokens[id], type == number(TokenType::control)});
    }
  }
  for (const std::string& merge : original.merges) {
    const std::size_t space = merge.find(' ', 1);
    json.merges.emplace_back(merge.substr(0, space), merge.substr(space + 1));
  }
  return json;
}

class RealVocabularies : public test::TokenizerFolder {
 protected:
  void SetUp() override {
    if (!test::have_shared()) GTEST_SKIP() << test::skip_reason();
  }
  void expect_same(const tokenizer::Tokenizer& tokenizer, const Original& original) {
    EXPECT_EQ(tokenizer.tokens, original.tokens);
    for (std::size_t id = 0; id < original.types.size(); ++id) {
      ASSERT_EQ(tokenizer.types[id], type_by_rule(original, id)) << id << " " << original.tokens[id];
    }
    EXPECT_EQ(tokenizer.merges, original.merges);
  }
};

TEST_F(RealVocabularies, Gpt2) {
  const Original original = load("ggml-vocab-gpt-2.gguf");
  TokenizerJson json = rebuild_byte_level(original);
  json.pre_tokenizer_json = test::byte_level_json(true);
  const tokenizer::Tokenizer tokenizer = read(json, original.tokens.size());
  expect_same(tokenizer, original);
  EXPECT_EQ(tokenizer.pre, original.pre);
  json.merges_as_pairs = true;
  EXPECT_EQ(read(json, original.tokens.size()).merges, original.merges);
  EXPECT_EQ(test::codes(tokenizer.findings), "hf-tok-no-eos ");
}

TEST_F(RealVocabularies, DeepSeekCoder) {
  const Original original = load("ggml-vocab-deepseek-coder.gguf");
  TokenizerJson json = rebuild_byte_level(original);
  json.pre_tokenizer_json =
      test::sequence_json({test::split_json("[\r\n]"), test::split_json("\\s?\\p{L}+"), test::split_json("\\s?\\p{P}+"),
                           test::split_json("[一-龥ࠀ-一가-\ud7ff]+"), R"({"type":"Digits","individual_digits":true})",
                           test::byte_level_json(false)});
  dir.write("config.json", R"({"architectures":["LlamaForCausalLM"],"bos_token_id":32013,"eos_token_id":32014})");
  dir.write("tokenizer_config.json", R"({"add_bos_token":true,"add_eos_token":false})");
  const tokenizer::Tokenizer tokenizer = read(json, original.tokens.size());
  expect_same(tokenizer, original);
  EXPECT_EQ(tokenizer.pre, original.pre);
  EXPECT_EQ(tokenizer.special.bos, 32013U);
  EXPECT_EQ(tokenizer.special.eos, 32014U);
  EXPECT_EQ(tokenizer.add_bos, true);
  EXPECT_EQ(test::codes(tokenizer.findings), "hf-tok-around ") << "there is no post-processor that adds it";
}

using Ids = std::map<std::string, u32, std::less<>>;

// The merges that Hugging Face's converter derives from SentencePiece scores.
void add_merges_from_scores(const Original& original, const Ids& ids, TokenizerJson& json) {
  struct Entry {
    std::string left, right;
    float score;
    std::size_t left_length, right_length;
  };
  const auto characters = [](std::string_view text) {
    return std::count_if(text.begin(), text.end(),
                         [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
  };
  std::vector<Entry> merges;
  for (const auto& [text, id] : json.vocab) {
    std::vector<Entry> local;
    for (std::size_t at = 1; at < text.size(); ++at) {
      if ((static_cast<unsigned char>(text[at]) & 0xC0) == 0x80) continue;
      const std::string left = text.substr(0, at), right = text.substr(at);
      if (!ids.contains(left) || !ids.contains(right)) continue;
      local.push_back({left, right, original.scores[static_cast<std::size_t>(id)],
                       static_cast<std::size_t>(characters(left)), static_cast<std::size_t>(characters(right))});
    }
    std::sort(local.begin(), local.end(), [&](const Entry& a, const Entry& b) {
      return std::pair(ids.find(a.left)->second, ids.find(a.right)->second) <
             std::pair(ids.find(b.left)->second, ids.find(b.right)->second);
    });
    merges.insert(merges.end(), local.begin(), local.end());
  }
  std::stable_sort(merges.begin(), merges.end(), [](const Entry& a, const Entry& b) {
    return std::tuple(a.score, a.left_length, a.right_length) > std::tuple(b.score, b.left_length, b.right_length);
  });
  for (const Entry& entry : merges) json.merges.emplace_back(entry.left, entry.right);
}

TokenizerJson rebuild_spm(const Original& original) {
  TokenizerJson json;
  json.byte_fallback = true;
  json.unk_token = "<unk>";
  json.normalizer_json =
      R"({"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]})";
  Ids ids;
  for (std::size_t id = 0; id < original.tokens.size(); ++id) {
    if (original.tokens[id].starts_with("[PAD")) continue;
    const i32 type = original.types[id];
    const bool added = type == number(TokenType::control) || type == number(TokenType::user_defined);
    if (added) json.added.push_back({static_cast<i64>(id), original.tokens[id], type == number(TokenType::control)});
    if (id >= 32000) continue;
    json.vocab.emplace_back(original.tokens[id], static_cast<i64>(id));
    ids.emplace(original.tokens[id], static_cast<u32>(id));
  }
  add_merges_from_scores(original, ids, json);
  return json;
}

// llama.cpp's SPM tokenizer: joins the adjacent pair with the highest score of the result, leftmost first.
std::vector<std::string> tokenize(std::string text, const Ids& ids, const std::vector<float>& scores) {
  std::string marked = space_mark;
  for (const char c : text) marked += c == ' ' ? space_mark : std::string(1, c);
  std::vector<std::string> symbols;
  for (std::string_view rest = marked; !rest.empty();) {
    const std::size_t size = decode_utf8(rest).size;
    symbols.emplace_back(rest.substr(0, size));
    rest.remove_prefix(size);
  }
  while (true) {
    std::size_t best = symbols.size();
    float best_score = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const auto at = ids.find(symbols[i] + symbols[i + 1]);
      if (at == ids.end() || (best != symbols.size() && scores[at->second] <= best_score)) continue;
      best = i;
      best_score = scores[at->second];
    }
    if (best == symbols.size()) return symbols;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

void expect_same_merging(const Original& original, const std::vector<float>& scores) {
  Ids ids;
  for (std::size_t id = 0; id < original.tokens.size(); ++id) ids.emplace(original.tokens[id], static_cast<u32>(id));
  for (const char* text :
       {"Hello world", "Hello, y'all! How are you 😁 ?我想在apple工作1314151天～", "ied 4 ½ months",
        "   leading and   inner spaces", "w048 7tuijk dsdfhu", "нещо на Български", "កាន់តែពិសេសអាចខលចេញ",
        "333333333 1.5e-3", "Führer", "   \n\n\t a",
        "The quick brown fox jumps over the lazy dog while internationalization and antidisestablishmentarianism wait.",
        "def main():\n    return [x ** 2 for x in range(10)]  # comment", "\"'```-----======----", "Cửa Việt",
        "ÇĞİÖŞÜ"}) {
    EXPECT_EQ(tokenize(text, ids, scores), tokenize(text, ids, original.scores)) << text;
  }
}

void check_spm(test::TokenizerJson json, const Original& original, const tokenizer::Tokenizer& tokenizer) {
  EXPECT_EQ(json.merges.size(), 61249U) << "as many as Llama 2's tokenizer.json has";
  for (std::size_t id = 0; id < original.tokens.size(); ++id) {
    ASSERT_EQ(tokenizer.tokens[id], original.tokens[id]);
    const i32 expected = original.tokens[id].starts_with("[PAD") ? number(TokenType::unused) : original.types[id];
    ASSERT_EQ(tokenizer.types[id], expected) << id << " " << original.tokens[id];
  }
  EXPECT_EQ(tokenizer.pre, "default");
  EXPECT_EQ(tokenizer.add_space_prefix, true);
  expect_same_merging(original, tokenizer.scores);
  // The order of scores is preserved for all results of merges.
  std::set<std::string> results;
  for (const auto& [left, right] : json.merges) results.insert(left + right);
  std::vector<std::size_t> order;
  for (std::size_t id = 0; id < 32000; ++id) {
    if (results.contains(original.tokens[id]) && original.types[id] == number(TokenType::normal)) order.push_back(id);
  }
  EXPECT_EQ(order.size(), 29612U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return original.scores[a] > original.scores[b]; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (original.scores[order[i]] == original.scores[order[i - 1]]) continue;
    ASSERT_LT(tokenizer.scores[order[i]], tokenizer.scores[order[i - 1]]) << original.tokens[order[i]];
  }
}

TEST_F(RealVocabularies, LlamaSentencePiece) {
  const Original original = load("ggml-vocab-llama-spm.gguf");
  const TokenizerJson json = rebuild_spm(original);
  const tokenizer::Tokenizer tokenizer = read(json, original.tokens.size());
  check_spm(json, original, tokenizer);
  EXPECT_EQ(test::codes(tokenizer.findings), "hf-tok-around ") << "there is no post-processor that adds a bos";
}

TEST_F(RealVocabularies, Phi3) {
  const Original original = load("ggml-vocab-phi-3.gguf");
  const TokenizerJson json = rebuild_spm(original);
  const tokenizer::Tokenizer tokenizer = read(json, original.tokens.size());
  check_spm(json, original, tokenizer);
  EXPECT_EQ(tokenizer.scores[32000], -1000.0F);
  EXPECT_TRUE(tokenizer.allows_phi3_name());
}

TEST_F(RealVocabularies, TokenizerModelFiles) {
  for (const char* name : {"ggml-vocab-llama-spm.gguf", "ggml-vocab-phi-3.gguf"}) {
    const Original original = load(name);
    const Original base = load("ggml-vocab-llama-spm.gguf");  // phi-3 has the same pieces
    std::vector<test::SpmPiece> pieces;
    for (std::size_t id = 0; id < base.tokens.size(); ++id) {
      pieces.push_back({base.tokens[id], base.scores[id], base.types[id]});
    }
    const test::TempDir folder;
    folder.write("tokenizer.model", test::sentencepiece_file(pieces));
    const TokenizerJson json = rebuild_spm(original);
    if (original.tokens.size() > 32000) folder.write("tokenizer.json", json.text());
    tokenizer::TokenizerOptions spm;
    spm.embedding_rows = original.tokens.size();
    const auto tokenizer = tokenizer::read_tokenizer(folder.path(), spm);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ(tokenizer->source, "tokenizer.model");
    EXPECT_EQ(tokenizer->tokens, original.tokens);
    for (std::size_t id = 0; id < original.tokens.size(); ++id) {
      const bool padding = original.tokens[id].starts_with("[PAD");
      ASSERT_EQ(tokenizer->types[id], padding ? number(TokenType::unused) : original.types[id]) << id;
      ASSERT_EQ(tokenizer->scores[id], padding ? -10000.0F : original.scores[id]) << id;
    }
  }
}

TEST_F(RealVocabularies, WordPiece) {
  const Original original = load("ggml-vocab-bert-bge.gguf");
  std::string lines;
  for (const std::string& token : original.tokens) {
    const bool begins_word = token.starts_with("\u2581");
    lines += begins_word ? token.substr(3) : token.starts_with('[') && token.size() > 2 ? token : "##" + token;
    lines += '\n';
  }
  dir.write("vocab.txt", lines);
  const tokenizer::Tokenizer tokenizer = read(original.tokens.size());
  for (std::size_t id = 0; id < original.tokens.size(); ++id) {
    // The converter of that time left the unused ones unmarked.
    const std::string& was = original.tokens[id];
    ASSERT_EQ(tokenizer.tokens[id], was.starts_with("[unused") ? "\u2581" + was : was);
  }
  EXPECT_EQ(tokenizer.special.bos, 101U);
  EXPECT_EQ(tokenizer.special.sep, 102U);
  EXPECT_EQ(tokenizer.special.mask, 103U);
}

TEST_F(RealVocabularies, MlxDirectories) {
  for (const auto& [name, pre, rows] : {std::tuple{"llama_f16_4b_g64", "llama-bpe", 512},
                                        {"qwen3_bf16_4b_g64", "qwen2", 512},
                                        {"edge_bf16_4b_g64", "llama-bpe", 320}}) {
    options.embedding_rows = static_cast<u64>(rows);
    const std::string path = test::shared_dir() + "/corpus/mlx/" + name;
    const auto tokenizer = tokenizer::read_tokenizer(path, options);
    ASSERT_TRUE(tokenizer) << tokenizer.error().message;
    EXPECT_EQ(tokenizer->pre, pre);
    EXPECT_EQ(tokenizer->add_bos, false);
    EXPECT_TRUE(tokenizer->templates.main);
    EXPECT_EQ(test::codes(tokenizer->findings), std::string_view(pre) == "qwen2" ? "hf-tok-nfc " : "");
    EXPECT_EQ(test::codes(tokenizer::check_tokenizer(path, options.embedding_rows)), "");
  }
}

}  // namespace
}  // namespace modelutils

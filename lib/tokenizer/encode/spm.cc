// SentencePiece's byte-pair encoding: merges pairs by the score of the resulting token.
#include <algorithm>
#include <queue>
#include <string>

#include "tokenizer/byte_tokens.h"
#include "tokenizer/encode/characters.h"
#include "tokenizer/encode/fragment_encoder.h"

namespace modelutils::tokenizer {

namespace {

struct Part {
  i64 previous, next;
  std::size_t at, size;  // size 0: merged into another part
};

struct Pair {
  float score;
  i64 left, right;
  std::size_t size;
  bool operator<(const Pair& other) const { return score < other.score || (score == other.score && left > other.left); }
};

class SpmEncoder final : public FragmentEncoder {
 public:
  explicit SpmEncoder(const EncodeVocabulary& vocabulary) : vocabulary_(vocabulary) {}

  Status encode(std::string_view text, std::vector<u32>& ids) const override {
    if (text.empty()) return {};
    std::vector<Part> parts;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = std::min(promised_bytes(text[at]), text.size() - at);
      const auto index = static_cast<i64>(parts.size());
      parts.push_back({index - 1, index + 1, at, size});
      at += size;
    }
    parts.back().next = -1;
    join(text, parts);
    for (i64 i = 0; i >= 0; i = parts[static_cast<std::size_t>(i)].next) {
      const Part& part = parts[static_cast<std::size_t>(i)];
      MU_TRY(add_token(text.substr(part.at, part.size), ids));
    }
    return {};
  }

 private:
  void join(std::string_view text, std::vector<Part>& parts) const {
    std::priority_queue<Pair> queue;
    const auto add = [&](i64 left, i64 right) {
      if (left < 0 || right < 0) return;
      const Part &a = parts[static_cast<std::size_t>(left)], &b = parts[static_cast<std::size_t>(right)];
      if (a.size + b.size > vocabulary_.longest) return;
      const auto id = vocabulary_.ids.find(text.substr(a.at, a.size + b.size));
      if (id) queue.push({vocabulary_.scores[*id], left, right, a.size + b.size});
    };
    for (std::size_t i = 1; i < parts.size(); ++i) add(static_cast<i64>(i) - 1, static_cast<i64>(i));
    while (!queue.empty()) {
      const Pair best = queue.top();
      queue.pop();
      Part &left = parts[static_cast<std::size_t>(best.left)], &right = parts[static_cast<std::size_t>(best.right)];
      if (left.size == 0 || right.size == 0 || left.size + right.size != best.size) continue;  // outdated
      left.size += right.size;
      left.next = right.next;
      right.size = 0;
      if (right.next >= 0) parts[static_cast<std::size_t>(right.next)].previous = best.left;
      add(left.previous, best.left);
      add(best.left, left.next);
    }
  }

  Status add_token(std::string_view text, std::vector<u32>& ids) const {
    if (const auto id = vocabulary_.ids.find(text)) {
      ids.push_back(*id);
      return {};
    }
    for (const char c : text) {
      const auto byte = static_cast<u8>(c);
      auto id = vocabulary_.ids.find(byte_token(byte));
      if (!id) id = vocabulary_.ids.find(std::string_view(&c, 1));
      if (!id) return no_token_for(byte);
      ids.push_back(*id);
    }
    return {};
  }

  const EncodeVocabulary& vocabulary_;
};

}  // namespace

EncoderPointer make_sentencepiece_encoder(const EncodeVocabulary& vocabulary) {
  return std::make_unique<SpmEncoder>(vocabulary);
}

}  // namespace modelutils::tokenizer

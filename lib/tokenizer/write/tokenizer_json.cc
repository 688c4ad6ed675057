#include <algorithm>
#include <array>

#include "base/escape.h"
#include "base/name_index.h"
#include "json/writer.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/write/files_from_keys.h"

namespace modelutils::tokenizer {

// Rebuilds the merges of a SentencePiece vocabulary, which has only scores.

namespace {

constexpr std::size_t longest_token = 256;  // in bytes; keeps the time linear. Published tokens have some 100.

struct Candidate {
  float score;
  u32 left_length, right_length;  // in characters
  u32 token;
  RebuiltMerge merge;
};

bool merges(i32 type) {
  constexpr auto number = [](TokenType one) { return static_cast<i32>(one); };
  return type != number(TokenType::unknown) && type != number(TokenType::control) &&
         type != number(TokenType::unused) && type != number(TokenType::byte);
}

bool begins_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

u32 characters(std::string_view text) {
  return static_cast<u32>(std::count_if(text.begin(), text.end(), begins_character));
}

bool comes_first(const Candidate& a, const Candidate& b) {
  if (a.score != b.score) return a.score > b.score;
  if (a.left_length != b.left_length) return a.left_length > b.left_length;
  if (a.right_length != b.right_length) return a.right_length > b.right_length;
  if (a.token != b.token) return a.token < b.token;
  return a.merge.left < b.merge.left;  // equal lengths imply the same split
}

}  // namespace

std::vector<RebuiltMerge> rebuild_merges(const std::vector<std::string>& tokens, const std::vector<i32>& types,
                                         const std::vector<float>& scores, std::size_t& longest) {
  NameIndex ids;
  ids.reserve(tokens.size());
  for (const std::string& token : tokens) ids.insert(token);
  std::vector<Candidate> candidates;
  longest = 0;
  for (u32 id = 0; id < tokens.size(); ++id) {
    const std::string_view token = tokens[id];
    if (!merges(types[id])) continue;
    if (token.size() > longest_token) {
      longest = std::max(longest, token.size());
      continue;
    }
    const u32 length = characters(token);
    u32 left_length = 0;
    for (std::size_t cut = 1; cut < token.size(); ++cut) {
      if (!begins_character(token[cut])) continue;
      ++left_length;
      const auto left = ids.find(token.substr(0, cut));
      const auto right = left ? ids.find(token.substr(cut)) : std::nullopt;
      if (right) candidates.push_back({scores[id], left_length, length - left_length, id, {*left, *right}});
    }
  }
  std::sort(candidates.begin(), candidates.end(), comes_first);
  std::vector<RebuiltMerge> found;
  found.reserve(candidates.size());
  for (const Candidate& candidate : candidates) found.push_back(candidate.merge);
  return found;
}

// tokenizer.json and the small files next to it, as Hugging Face's tokenizers and mlx-lm read them.

namespace {

using json::Writer;

bool is_type(const RebuiltTokenizer& t, u32 id, TokenType type) {
  return t.types[id] == static_cast<i32>(type);
}

// Writes an object with a type, followed by the component's members.
template <typename Members>
void component(Writer& out, std::string_view type, Members&& members) {
  const auto in_object = out.object();
  out.member("type", type);
  members();
}
void component(Writer& out, std::string_view type) {
  component(out, type, [] {});
}

void pattern(Writer& out, std::string_view kind, std::string_view text) {
  const auto in_pattern = out.object("pattern");
  out.member(kind, text);
}

void replace(Writer& out, std::string_view kind, std::string_view from, std::string_view to) {
  component(out, "Replace", [&] {
    pattern(out, kind, from);
    out.member("content", to);
  });
}

void sequence(Writer& out, std::string_view list, const std::vector<std::function<void()>>& parts) {
  if (parts.empty()) return out.null();
  if (parts.size() == 1) return parts.front()();
  component(out, "Sequence", [&] {
    const auto in_array = out.array(list);
    for (const auto& part : parts) part();
  });
}

// In a GGUF every token of the form <|…|> is a control token. In Qwen's vocabularies these are added tokens that are
// not special (tokenizer_config.json of Qwen2.5 and Qwen3): decoders that skip special tokens show them.
bool is_shown_by_qwen(const RebuiltTokenizer& t, u32 id) {
  constexpr std::array<std::string_view, 6> shown = {"<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>",
                                                     "<|fim_pad|>",    "<|repo_name|>",  "<|file_sep|>"};
  return t.pre != nullptr && t.pre->pre == "qwen2" && std::ranges::find(shown, t.tokens[id]) != shown.end();
}

void write_added_tokens(const RebuiltTokenizer& t, Writer& out) {
  // Phi-3's tokenizer strips after all special tokens except these.
  constexpr std::array<std::string_view, 3> kept = {"<unk>", "<s>", "<|endoftext|>"};
  const auto in_array = out.array();
  for (u32 id = 0; id < t.tokens.size(); ++id) {
    const bool is_shown = is_shown_by_qwen(t, id);
    const bool is_special = !is_shown && (is_type(t, id, TokenType::control) || is_type(t, id, TokenType::unknown));
    if (!is_special && !is_shown && !is_type(t, id, TokenType::user_defined)) continue;
    const bool strips = t.strips_right && std::find(kept.begin(), kept.end(), t.tokens[id]) == kept.end();
    const auto in_object = out.object();
    out.member("id", id);
    out.member("content", t.tokens[id]);
    out.member("single_word", false);
    out.member("lstrip", false);
    out.member("rstrip", strips);
    out.member("normalized", false);
    out.member("special", is_special);
  }
}

void write_normalizer(const RebuiltTokenizer& t, Writer& out) {
  std::vector<std::function<void()>> parts;
  switch (t.kind) {
    case RebuiltKind::byte_bpe:
      if (t.normalizes) parts.emplace_back([&] { component(out, "NFC"); });
      break;
    case RebuiltKind::wordpiece:
      parts.emplace_back([&] {
        component(out, "BertNormalizer", [&] {
          out.member("clean_text", true);
          out.member("handle_chinese_chars", true);
          out.member_or_null("strip_accents", t.strip_accents);
          out.member("lowercase", t.lowercase);
        });
      });
      break;
    case RebuiltKind::unigram:
      if (!t.charsmap.empty()) {
        parts.emplace_back(
            [&] { component(out, "Precompiled", [&] { out.member("precompiled_charsmap", base64(t.charsmap)); }); });
      }
      if (t.removes_extra_spaces) {
        parts.emplace_back([&] {
          component(out, "Strip", [&] {
            out.member("strip_left", true);
            out.member("strip_right", true);
          });
        });
        parts.emplace_back([&] { replace(out, "Regex", " {2,}", " "); });
      }
      [[fallthrough]];
    case RebuiltKind::sentencepiece:
    case RebuiltKind::spaced_bpe:
      if (t.add_space_prefix) {
        parts.emplace_back([&] { component(out, "Prepend", [&] { out.member("prepend", space_mark); }); });
      }
      parts.emplace_back([&] { replace(out, "String", " ", space_mark); });
  }
  sequence(out, "normalizers", parts);
}

void write_split(Writer& out, std::string_view regex) {
  component(out, "Split", [&] {
    pattern(out, "Regex", regex);
    out.member("behavior", "Isolated");
    out.member("invert", false);
  });
}

void write_byte_level(Writer& out, bool add_prefix_space, bool use_regex) {
  component(out, "ByteLevel", [&] {
    out.member("add_prefix_space", add_prefix_space);
    out.member("trim_offsets", true);
    out.member("use_regex", use_regex);
  });
}

// Writes one element of a signature (pre_table.h).
void write_element(Writer& out, std::string_view element, std::string_view regex) {
  if (!regex.empty()) return write_split(out, regex);
  if (element.starts_with("B")) return write_byte_level(out, false, element == "B+");
  if (element.starts_with("D")) {
    return component(out, "Digits", [&] { out.member("individual_digits", element == "D1"); });
  }
  component(out, "Punctuation",
            [&] { out.member("behavior", element == "P" ? "Contiguous" : element.substr(element.find(':') + 1)); });
}

void write_pre_tokenizer(const RebuiltTokenizer& t, Writer& out) {
  if (t.kind == RebuiltKind::wordpiece) return component(out, "BertPreTokenizer");
  if (t.kind != RebuiltKind::byte_bpe) return out.null();
  std::vector<std::function<void()>> parts;
  if (t.pre == nullptr) {
    // llama.cpp's default for unknown pre-tokenizers.
    constexpr std::array<std::string_view, 4> regexes = {
        R"([\p{P}\$\+<=>\^~\|]+)", R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))",
        R"(\p{N}+)", "[0-9][0-9][0-9]"};
    for (const std::string_view regex : regexes) parts.emplace_back([&out, regex] { write_split(out, regex); });
    parts.emplace_back([&] { write_byte_level(out, false, false); });
  } else {
    for (std::size_t i = 0; i < t.pre->signature.size(); ++i) {
      parts.emplace_back([&, i] { write_element(out, t.pre->signature[i], t.pre->regexes[i]); });
    }
  }
  sequence(out, "pretokenizers", parts);
}

void write_decoder(const RebuiltTokenizer& t, Writer& out) {
  if (t.kind == RebuiltKind::byte_bpe) return write_byte_level(out, true, true);
  if (t.kind == RebuiltKind::wordpiece) {
    return component(out, "WordPiece", [&] {
      out.member("prefix", "##");
      out.member("cleanup", true);
    });
  }
  std::vector<std::function<void()>> parts;
  parts.emplace_back([&] { replace(out, "String", space_mark, " "); });
  if (t.kind != RebuiltKind::unigram) parts.emplace_back([&] { component(out, "ByteFallback"); });
  parts.emplace_back([&] { component(out, "Fuse"); });
  if (t.add_space_prefix) {
    parts.emplace_back([&] {
      component(out, "Strip", [&] {
        out.member("content", " ");
        out.member("start", u64{1});
        out.member("stop", u64{0});
      });
    });
  }
  sequence(out, "decoders", parts);
}

// Writes the template for one text or for a pair: the tokens before and after each.
void write_template(const RebuiltTokenizer& t, Writer& out, bool is_pair) {
  // The second text follows the end of the first one directly, or a separator.
  const bool is_bert =
      t.kind == RebuiltKind::wordpiece || t.add_sep || (t.special.cls && t.special.cls == t.special.bos);
  const auto special = [&](u32 id, u64 type) {
    const auto in_object = out.object();
    const auto in__special_token = out.object("SpecialToken");
    out.member("id", t.tokens[id]);
    out.member("type_id", type);
  };
  const auto text = [&](std::string_view name, u64 type) {
    const auto in_object = out.object();
    const auto in__sequence = out.object("Sequence");
    out.member("id", name);
    out.member("type_id", type);
  };
  const auto in_array = out.array();
  if (t.add_bos) special(*t.special.bos, 0);
  text("A", 0);
  if (t.add_eos) special(*t.special.eos, 0);
  if (is_pair) {
    const u64 type = 1;
    if (t.add_sep) special(*t.special.sep, type);
    if (t.add_bos && !is_bert) special(*t.special.bos, type);
    text("B", type);
    if (t.add_eos) special(*t.special.eos, type);
  }
}

void write_roberta(const RebuiltTokenizer& t, Writer& out) {
  const auto token = [&](std::string_view name, u32 id) {
    const auto in_array = out.array(name);
    out.string(t.tokens[id]);
    out.number(id);
  };
  component(out, "RobertaProcessing", [&] {
    token("sep", *t.special.sep);
    token("cls", *t.special.bos);
    out.member("trim_offsets", true);
    out.member("add_prefix_space", false);
  });
}

void write_post_processor(const RebuiltTokenizer& t, Writer& out) {
  if (!t.add_bos && !t.add_eos) return out.null();
  // This post-processor distinguishes one of two pre-tokenizers that split alike.
  const bool is_roberta = t.pre != nullptr && t.pre->when == PreWhen::roberta;
  if (is_roberta && t.add_bos && t.add_eos && t.add_sep && t.special.sep == t.special.eos) return write_roberta(t, out);
  component(out, "TemplateProcessing", [&] {
    out.key("single");
    write_template(t, out, false);
    out.key("pair");
    write_template(t, out, true);
    const auto in_special_tokens = out.object("special_tokens");
    const auto describe = [&](u32 id) {
      const auto in_object = out.object(t.tokens[id]);
      out.member("id", t.tokens[id]);
      {
        const auto in_ids = out.array("ids");
        out.number(id);
      }
      const auto in_tokens = out.array("tokens");
      out.string(t.tokens[id]);
    };
    std::vector<u32> described;
    const auto add = [&](bool is_added, const std::optional<u32>& id) {
      if (!is_added || !id || std::ranges::find(described, *id) != described.end()) return;
      described.push_back(*id);
      describe(*id);
    };
    add(t.add_bos, t.special.bos);
    add(t.add_eos, t.special.eos);
    add(t.add_sep, t.special.sep);
  });
}

void write_vocabulary(const RebuiltTokenizer& t, Writer& out) {
  out.key("vocab");
  if (t.kind == RebuiltKind::unigram) {
    {
      const auto in_array = out.array();
      for (u32 id = 0; id < t.tokens.size(); ++id) {
        const auto in_item = out.array();
        out.string(t.tokens[id]);
        out.number(t.scores[id]);
      }
    }
    return;
  }
  const auto in_object = out.object();
  for (u32 id = 0; id < t.tokens.size(); ++id) out.member(t.tokens[id], id);
}

void unknown_token(const RebuiltTokenizer& t, Writer& out) {
  out.key("unk_token");
  if (t.special.unk && t.kind != RebuiltKind::byte_bpe) {
    out.string(t.tokens[*t.special.unk]);
  } else {
    out.null();
  }
}

void write_model(const RebuiltTokenizer& t, Writer& out) {
  if (t.kind == RebuiltKind::unigram) {
    return component(out, "Unigram", [&] {
      out.member_or_null("unk_id", t.special.unk);
      write_vocabulary(t, out);
      out.member("byte_fallback", false);
    });
  }
  if (t.kind == RebuiltKind::wordpiece) {
    return component(out, "WordPiece", [&] {
      unknown_token(t, out);
      out.member("continuing_subword_prefix", "##");
      out.member("max_input_chars_per_word", u64{100});
      write_vocabulary(t, out);
    });
  }
  const bool is_byte_level = t.kind == RebuiltKind::byte_bpe;
  component(out, "BPE", [&] {
    out.null_member("dropout");
    unknown_token(t, out);
    out.null_member("continuing_subword_prefix");
    out.null_member("end_of_word_suffix");
    out.member("fuse_unk", !is_byte_level);
    out.member("byte_fallback", !is_byte_level);
    out.member("ignore_merges", t.ignore_merges);
    write_vocabulary(t, out);
    const auto in_merges = out.array("merges");
    for (const RebuiltMerge& merge : t.merges) {
      const auto in_array = out.array();
      out.string(t.tokens[merge.left]);
      out.string(t.tokens[merge.right]);
    }
  });
}

}  // namespace

void write_tokenizer_json(const RebuiltTokenizer& t, const std::function<void(std::string_view)>& sink) {
  Writer out(Writer::Style::compact, sink);
  const auto part = [&](std::string_view name, void (*write)(const RebuiltTokenizer&, Writer&)) {
    out.key(name);
    write(t, out);
  };
  {
    const auto in_object = out.object();
    out.member("version", "1.0");
    out.null_member("truncation");
    out.null_member("padding");
    part("added_tokens", write_added_tokens);
    part("normalizer", write_normalizer);
    part("pre_tokenizer", write_pre_tokenizer);
    part("post_processor", write_post_processor);
    part("decoder", write_decoder);
    part("model", write_model);
  }
  out.end_line();
  out.flush();
}

}  // namespace modelutils::tokenizer

// Invariants of every tokenizer that could be read, for the fuzz targets of its files.
#pragma once

#include <cstdlib>
#include <set>
#include <string_view>

#include "tokenizer/read/build.h"

namespace modelutils::fuzz {

inline void require(bool condition) {
  if (!condition) std::abort();
}

inline void check_tokenizer_invariants(const tokenizer::Tokenizer& tokenizer, u64 rows) {
  require(tokenizer.tokens.size() == rows && tokenizer.types.size() == rows);
  require(tokenizer.scores.size() == (tokenizer::has_scores(tokenizer.kind) ? rows : 0));
  const std::set<std::string_view> distinct(tokenizer.tokens.begin(), tokenizer.tokens.end());
  require(distinct.size() == rows && !distinct.contains(""));
  for (const i32 type : tokenizer.types) require(type >= 1 && type <= 6);
  const tokenizer::SpecialIds& ids = tokenizer.special;
  for (const auto& id : {ids.bos, ids.eos, ids.unk, ids.sep, ids.pad, ids.cls, ids.mask, ids.eot, ids.eom}) {
    require(!id || *id < rows);
  }
  require(tokenizer.add_bos != true || ids.bos);
  require(tokenizer.add_sep != true || ids.sep);
  require(tokenizer.lowercase.has_value() == (tokenizer.kind == tokenizer::TokenizerKind::bert));
  for (const Finding& finding : tokenizer.findings) require(finding.severity != Severity::error);
}

inline void build_and_check(const tokenizer::TokenizerFiles& files, const hf::Config* config, u64 rows) {
  tokenizer::TokenizerOptions options;
  options.embedding_rows = rows;
  options.config = config;
  auto tokenizer = tokenizer::build_tokenizer(files, options);
  if (!tokenizer && tokenizer.error().code == "hf-tok-pre-unknown") {
    options.pre = "qwen2";  // continue after a check that a fuzzer can hardly pass
    tokenizer = tokenizer::build_tokenizer(files, options);
  }
  if (tokenizer) check_tokenizer_invariants(*tokenizer, rows);
}

}  // namespace modelutils::fuzz

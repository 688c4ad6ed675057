// The HTML pages of one model (its card, its listing and, if requested, statistics, the memory plan and the
// vocabulary) and of a comparison (changes, type conversions, and the distribution of the error).
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "compare/compare.h"
#include "model/listing/chat_source.h"
#include "report/dump.h"
#include "report/html/html_page.h"
#include "tokenizer/encode/vocabulary.h"

namespace modelutils {

/// The inputs of a model page. The functions are called only if the page shows their result.
struct ModelPageSource {
  std::string_view program;  ///< "gguf-dump", "libmodelutils"
  std::string_view path;     ///< as given
  ListingSource& listing;
  const Findings& findings;  ///< the rules that the model violates
  std::function<Result<memory::FitReport>(const memory::FitRequest&)> fit;
  std::function<Result<tokenizer::EncodeKeys>()> tokenizer;  ///< empty: the page has no vocabulary
  std::function<Result<ChatSource>(std::string_view name)> chat;
};

/// Returns default contexts for the figure of memory over context: powers of two up to the trained context, which comes
/// last. Empty if the trained context is unknown.
std::vector<u64> page_contexts(std::optional<u64> trained_context);

/// Fills and finishes `page`. `request`: the selection; `statistics`, `fit` and `tokens` add parts to the page, and the
/// vocabulary is included without being requested. Errors: those of reading, and those of the requested statistics,
/// memory plan and tokens.
Status write_model_page(HtmlPage& page, const ModelPageSource& source, const DumpRequest& request);

// The HTML page of a model comparison: changes, type conversions, and the distribution of the error.

/// Fills and finishes `page`. `program`: the name of the generating program. Errors: those of reading keys.
Status write_diff_page(HtmlPage& page, const ModelDiff& diff, std::string_view program);

}  // namespace modelutils

// The HTML page of one model: its card, its listing and, if requested, statistics, the memory plan and the vocabulary.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "listing/chat_source.h"
#include "report/dump.h"
#include "report/html/html_page.h"
#include "tokenizer/encode/keys.h"

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

}  // namespace modelutils

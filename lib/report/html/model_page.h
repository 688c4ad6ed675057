// The page about one model: what its card, its listing and, if asked for, statistics, the memory plan and the
// vocabulary say.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "listing/chat_source.h"
#include "report/dump.h"
#include "report/html/html_page.h"
#include "tokenizer/encode/keys.h"

namespace modelutils {

/// What of a model is asked for only where the page shows it.
struct ModelPageSource {
  std::string_view program;  ///< "gguf-dump", "libmodelutils"
  std::string_view path;     ///< as given
  ListingSource& listing;
  const Findings& findings;  ///< rules that it breaks
  std::function<Result<memory::FitReport>(const memory::FitRequest&)> fit;
  std::function<Result<tokenizer::EncodeKeys>()> tokenizer;  ///< none: the page has no vocabulary
  std::function<Result<ChatSource>(std::string_view name)> chat;
};

/// Contexts for the figure of memory over context where none are given: powers of two up to what the model was trained
/// for, which is the last. Empty if that is not known.
std::vector<u64> page_contexts(std::optional<u64> trained_context);

/// Fills and finishes `page`. `request`: the selection; `statistics`, `fit` and `tokens` are parts of the page here,
/// and the vocabulary is there without being asked for. Errors: those of reading; those of statistics, the memory plan
/// and tokens that were asked for.
Status write_model_page(HtmlPage& page, const ModelPageSource& source, const DumpRequest& request);

}  // namespace modelutils

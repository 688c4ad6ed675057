// A page to look at (lib/report/html).
#include "report/html/model_page.h"

#include "c_api/fit_request.h"
#include "c_api/model_texts.h"
#include "c_api/report_text.h"
#include "listing/gguf_listing.h"
#include "listing/safetensors_listing.h"
#include "rules/gguf/rules.h"
#include "rules/safetensors/rules.h"

using namespace modelutils;
using namespace modelutils::c_api;

mu_status mu_page(const mu_model* model, uint32_t flags, const mu_fit_request* request, mu_text** html) {
  const auto write = [&](std::string& text) -> Status {
    if (model == nullptr) return null_argument("model");
    MU_TRY(check_flags(flags, MU_PAGE_VOCABULARY | MU_PAGE_STATISTICS | MU_PAGE_MEMORY));
    const ModelView& view = model->view;
    DumpRequest shown;
    shown.statistics = (flags & MU_PAGE_STATISTICS) != 0;
    if ((flags & MU_PAGE_MEMORY) != 0) {
      MU_ASSIGN(shown.fit, fit_request_of(request));
    }
    const bool is_gguf = view.gguf() != nullptr;
    const std::unique_ptr<ListingSource> listing =
        is_gguf ? gguf_listing(*view.gguf(), view.path()) : safetensors_listing(*view.safetensors());
    const Findings findings =
        is_gguf ? gguf_container_findings(*view.gguf()) : safetensors_container_findings(*view.shards());
    ModelPageSource source{"libmodelutils", view.path(), *listing, findings, {}, {}, {}};
    source.fit = [&](const memory::FitRequest& wanted) { return fit_of(view, wanted); };
    if ((flags & MU_PAGE_VOCABULARY) != 0) source.tokenizer = [&] { return tokenizer_keys(view); };
    source.chat = [&](std::string_view name) { return chat_of(view, name); };
    HtmlPage page([&](std::string_view piece) -> Status {
      text += piece;
      return {};
    });
    Status done = write_model_page(page, source, shown);
    return done ? Status() : tl::make_unexpected(in_file(std::move(done.error()), view.path()));
  };
  return give_report(html, write, "html");
}

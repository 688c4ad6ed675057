// The HTML page about a model (lib/report/html).
#include "report/html/model_page.h"

#include "c_api/fit_request.h"
#include "c_api/model_texts.h"
#include "c_api/report_text.h"
#include "listing/listing.h"
#include "rules/gguf/rules.h"
#include "rules/safetensors/rules.h"

using namespace modelutils;
using namespace modelutils::c_api;

mu_status mu_page(const mu_model* model, uint32_t flags, const mu_fit_request* request, mu_text** html) {
  const auto write = [&](std::string& text) -> Status {
    if (model == nullptr) return null_argument("model");
    MU_TRY(check_flags(flags, MU_PAGE_VOCABULARY | MU_PAGE_STATISTICS | MU_PAGE_MEMORY));
    const Model& opened = model->opened;
    DumpRequest shown;
    shown.statistics = (flags & MU_PAGE_STATISTICS) != 0;
    if ((flags & MU_PAGE_MEMORY) != 0) {
      MU_ASSIGN(shown.fit, fit_request_of(request));
    }
    const std::unique_ptr<ListingSource> listing = listing_of(opened);
    const Findings findings =
        opened.gguf ? gguf_container_findings(*opened.gguf) : safetensors_container_findings(opened.safetensors->set);
    ModelPageSource source{"libmodelutils", opened.path(), *listing, findings, {}, {}, {}};
    source.fit = [&](const memory::FitRequest& wanted) { return fit_of(opened, wanted); };
    if ((flags & MU_PAGE_VOCABULARY) != 0) source.tokenizer = [&] { return tokenizer_keys(opened); };
    source.chat = [&](std::string_view name) { return chat_of(opened, name); };
    HtmlPage page([&](std::string_view piece) -> Status {
      text += piece;
      return {};
    });
    Status done = write_model_page(page, source, shown);
    return done ? Status() : tl::make_unexpected(in_file(std::move(done.error()), opened.path()));
  };
  return give_report(html, write, "html");
}

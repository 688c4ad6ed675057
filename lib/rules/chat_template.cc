#include "rules/chat_template.h"

#include "template/hidden_text.h"
#include "template/inspect.h"

namespace modelutils {

std::optional<jinja::Template> check_chat_template(std::string_view text, std::string_view where,
                                                   std::optional<u64> offset, std::string_view file, FindingLog& log) {
  const auto add = [&](const std::vector<jinja::Remark>& remarks) {
    for (const jinja::Remark& remark : remarks) {
      const std::optional<u64> at = offset ? std::optional<u64>(*offset + remark.offset) : std::nullopt;
      log.add(remark.is_note ? Severity::note : Severity::warning, Scope::model, remark.code, remark.message, where, at,
              file);
    }
  };
  add(jinja::hidden_text(text));
  auto parsed = jinja::parse(text);
  if (parsed) {
    add(jinja::inspect(*parsed, text));
    return std::move(*parsed);
  }
  const Error& error = parsed.error();
  const std::string place = error.where.empty() ? std::string() : error.where + ": ";
  const std::optional<u64> at = offset && error.offset ? std::optional<u64>(*offset + *error.offset) : std::nullopt;
  // Jinja renders what is only not supported here.
  log.add(error.code == "template-unsupported" ? Severity::note : Severity::warning, Scope::model, error.code,
          "the chat template does not parse: " + place + error.message, where, at, file);
  return std::nullopt;
}

}  // namespace modelutils

#include "cli/page_output.h"

#include <span>

#include "io/atomic_output.h"

namespace modelutils::cli {

void add_page_flags(Command& command, PageOutput& output, std::string help, std::string group, std::string force_help) {
  command.add({.names = "--html",
               .value_name = "FILE",
               .help = std::move(help),
               .group = group,
               .kind = ValueKind::output_file,
               .file_patterns = {"*.html"}},
              output.path);
  command.add({.names = "--force", .help = std::move(force_help), .group = group}, output.force);
}

Status check_page(const PageOutput& output) {
  if (output.force && !output.path) return usage_error("--force needs --html");
  return {};
}

bool was_page_closed(const Status& written) {
  return !written && written.error().code == "out-closed";
}

Status write_page(const PageOutput& output, const std::function<Status(HtmlPage& page)>& fill) {
  OutputOptions options;
  options.force = output.force;
  options.binary = false;
  MU_ASSIGN(AtomicOutput file, AtomicOutput::create(*output.path, options));
  HtmlPage page([&](std::string_view html) { return file.append(std::as_bytes(std::span(html))); });
  MU_TRY(fill(page));
  return file.commit();
}

}  // namespace modelutils::cli

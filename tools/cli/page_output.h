// --html: a page written to a file, whole or not at all.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/command.h"
#include "report/html/html_page.h"

namespace modelutils::cli {

struct PageOutput {
  std::optional<std::string> path;  ///< "-": standard output
  bool force = false;               ///< may replace a file
};

/// --html and --force. `help` says what the page shows.
void add_page_flags(Command& command, PageOutput& output, std::string help, std::string group,
                    std::string force_help = "With --html: replace an existing output");

/// Usage error: --force without --html.
Status check_page(const PageOutput& output);

/// Did whoever read the page have enough of it?
bool was_page_closed(const Status& written);

/// Lets `fill` write the page. Errors: those of `fill`, those of AtomicOutput.
Status write_page(const PageOutput& output, const std::function<Status(HtmlPage& page)>& fill);

}  // namespace modelutils::cli

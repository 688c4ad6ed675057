// --html: writes a page to a file, completely or not at all.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "cli/command.h"
#include "report/html/html_page.h"

namespace modelutils::cli {

struct PageOutput {
  std::optional<std::string> path;  ///< page to write; "-" for standard output
  bool force = false;               ///< may replace an existing file
};

/// Adds --html and --force. `help` describes the page.
void add_page_flags(Command& command, PageOutput& output, std::string help, std::string group,
                    std::string force_help = "With --html: replace an existing output");

/// Returns a usage error for --force without --html.
Status check_page(const PageOutput& output);

/// True if writing ended because the reader closed the pipe.
bool was_page_closed(const Status& written);

/// Writes a page with `fill`. Errors: those of `fill` and of AtomicOutput.
Status write_page(const PageOutput& output, const std::function<Status(HtmlPage& page)>& fill);

}  // namespace modelutils::cli

// The results of verify and model-diff as JSON.
#include "c_api/report_text.h"
#include "io/text_output.h"
#include "report/model_diff.h"
#include "report/verify_report.h"
#include "verify/verify.h"

using namespace modelutils;
using namespace modelutils::c_api;

namespace {

// "-" is a file name here, but means standard input to the readers.
std::string file_path(const char* path) {
  return std::string_view(path) == "-" ? "./-" : path;
}

Result<Model> open_compared(const char* path) {
  MU_ASSIGN(PathProbe probe, probe_path(file_path(path), OutsideLinks::warn));
  if (!probe.format) return tl::make_unexpected(unknown_format(probe));
  return open_model(std::move(probe));
}

}  // namespace

mu_status mu_verify(const char* path, uint32_t flags, mu_text** json) {
  return give_report(json, [&](std::string& text) -> Status {
    if (path == nullptr) return null_argument("path");
    MU_TRY(check_flags(flags, MU_VERIFY_DATA | MU_VERIFY_IGNORE_INDEX | MU_VERIFY_AUTHENTIC));
    VerifyOptions options;
    options.data = (flags & MU_VERIFY_DATA) != 0;
    options.ignore_index = (flags & MU_VERIFY_IGNORE_INDEX) != 0;
    options.authentic = (flags & MU_VERIFY_AUTHENTIC) != 0;
    std::optional<Error> unreadable;
    MU_TRY(verify_paths({file_path(path)}, options, [&](const VerifyReport& report) {
      if (report.unreadable && !report.is_below) {
        unreadable = report.unreadable;
        if (unreadable->file.empty()) unreadable->file = report.path;
      }
      text += verify_json(report, false);
      if (text.empty() || text.back() != '\n') text += '\n';
    }));
    if (unreadable) return tl::make_unexpected(std::move(*unreadable));
    return {};
  });
}

mu_status mu_diff(const char* a, const char* b, uint32_t flags, mu_text** json) {
  return give_report(json, [&](std::string& text) -> Status {
    if (a == nullptr) return null_argument("a");
    if (b == nullptr) return null_argument("b");
    MU_TRY(check_flags(flags, MU_DIFF_DATA | MU_DIFF_LAYOUT));
    CompareOptions options;
    options.data = (flags & MU_DIFF_DATA) != 0;
    options.layout = (flags & MU_DIFF_LAYOUT) != 0;
    Result<Model> left = open_compared(a);
    if (!left) return tl::make_unexpected(in_file(std::move(left.error()), a));
    Result<Model> right = open_compared(b);
    if (!right) return tl::make_unexpected(in_file(std::move(right.error()), b));
    MU_ASSIGN(const std::unique_ptr<ModelDiff> diff, compare_models(std::move(*left), std::move(*right), options));
    if (const Error* error = diff->read_error()) return tl::make_unexpected(*error);
    TextOutput out(text);
    MU_TRY(write_diff_json(out, *diff));
    return out.flush();
  });
}

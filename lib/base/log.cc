#include "base/log.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace modelutils {

namespace {

struct Log {
  LogLevel level = LogLevel::nothing;
  LogSink sink;
};

Log& the_log() {
  static Log log;
  return log;
}

}  // namespace

void set_log(LogLevel level, LogSink sink) {
  the_log() = {level, std::move(sink)};
}

bool is_logged(LogLevel level) {
  return level <= the_log().level;
}

void log_line(LogLevel level, std::string_view text) {
  if (is_logged(level)) the_log().sink(level, text);
}

LogStep::~LogStep() {
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start_;
  log_debug("{}: {:.1f} ms", what_, took.count());
}

u64& FindingLog::counter(Severity severity, std::string_view code) {
  const auto found = counts_.find(KindView{severity, code});
  if (found != counts_.end()) return found->second;
  return counts_[Kind{severity, std::string(code)}];
}

bool FindingLog::keeps(Severity severity, std::string_view code) const {
  const auto found = counts_.find(KindView{severity, code});
  return found == counts_.end() || found->second < kept_per_code;
}

void FindingLog::count_only(Severity severity, std::string_view code, u64 count) {
  counter(severity, code) += count;
  if (severity == Severity::error) errors_ += count;
  if (severity == Severity::warning) warnings_ += count;
}

void FindingLog::add(Finding finding) {
  const bool keep = keeps(finding.severity, finding.code);
  count_only(finding.severity, finding.code);
  if (keep) kept_.push_back(std::move(finding));
}

void FindingLog::add_all(Findings findings) {
  for (Finding& finding : findings) add(std::move(finding));
}

void FindingLog::add_all(FindingLog other) {
  std::map<Kind, u64, KindLess> kept;
  for (Finding& finding : other.kept_) {
    ++kept[Kind{finding.severity, finding.code}];
    add(std::move(finding));
  }
  for (const auto& [kind, count] : other.counts_) {
    if (const u64 more = count - kept[kind]; more != 0) count_only(kind.severity, kind.code, more);
  }
}

void FindingLog::change_severities(const std::function<Severity(Severity severity, std::string_view code)>& change) {
  FindingLog changed;
  for (const Finding& finding : kept_) {
    changed.kept_.push_back(finding);
    changed.kept_.back().severity = change(finding.severity, finding.code);
  }
  for (const auto& [kind, count] : counts_) changed.count_only(change(kind.severity, kind.code), kind.code, count);
  *this = std::move(changed);
}

void FindingLog::set_file(std::string_view base_name) {
  for (Finding& finding : kept_) {
    if (finding.file.empty()) finding.file = base_name;
  }
}

void FindingLog::clear_file() {
  for (Finding& finding : kept_) finding.file.clear();
}

Findings FindingLog::findings() const {
  Findings all = kept_;
  std::stable_partition(all.begin(), all.end(), [](const Finding& finding) { return finding.leads; });
  std::map<Kind, u64, KindLess> kept;
  for (const Finding& finding : kept_) ++kept[Kind{finding.severity, finding.code}];
  for (const auto& [kind, count] : counts_) {
    const auto found = kept.find(kind);
    const u64 more = count - (found == kept.end() ? 0 : found->second);
    if (more == 0) continue;
    all.push_back(
        {.severity = Severity::note,
         .scope = Scope::model,
         .code = kind.code,
         .message = counted(more, "more " + std::string(severity_name(kind.severity))) + " of this kind, not listed"});
  }
  return all;
}

}  // namespace modelutils

#include "io/output_remarks.h"

#include <mutex>
#include <utility>

#include "base/path.h"

namespace modelutils {

namespace {

struct OutputRemarks {
  OutputRemarkSink sink;
  std::mutex mutex;
  std::string last;
};

OutputRemarks& output_remarks() {
  static OutputRemarks remarks;
  return remarks;
}

}  // namespace

void set_output_remarks(OutputRemarkSink sink) {
  output_remarks().sink = std::move(sink);
  output_remarks().last.clear();
}

void remark_output(const std::string& path, const char* code, const std::string& message) {
  OutputRemarks& remarks = output_remarks();
  if (!remarks.sink) return;
  const std::lock_guard lock(remarks.mutex);
  if (remarks.last == folder_of(path) + code + message) return;
  remarks.last = folder_of(path) + code + message;
  remarks.sink(path, code, message);
}

}  // namespace modelutils

// Remarks about an output that is complete but differs from the request, e.g. in its access rights. The library reports
// them; the program (tools/cli) decides where to print them.
#pragma once

#include <functional>
#include <string>

namespace modelutils {

/// Receives a warning: the output's path, a stable code, and an unescaped message.
using OutputRemarkSink = std::function<void(const std::string& path, const char* code, const std::string& message)>;

/// Sends all later remarks to `sink`. Call it before starting threads.
void set_output_remarks(OutputRemarkSink sink);

/// Passes a remark to the sink. A remark that repeats for several files of a folder is passed once, for the first.
void remark_output(const std::string& path, const char* code, const std::string& message);

}  // namespace modelutils

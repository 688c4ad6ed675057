// Remarks about an output that is whole, but not quite what was wanted. The library says it; a program that
// shows it (tools/cli) says where to.
#pragma once

#include <functional>
#include <string>

namespace modelutils {

/// Gets a warning: the output's path, a stable code, and what is to be said, not escaped.
using OutputRemarkSink = std::function<void(const std::string& path, const char* code, const std::string& message)>;

/// From now on `sink` gets every remark. To be called before threads start.
void set_output_remarks(OutputRemarkSink sink);

/// Gives the sink a remark; the same one of several files of a folder once, of the first.
void remark_output(const std::string& path, const char* code, const std::string& message);

}  // namespace modelutils

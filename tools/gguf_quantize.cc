// gguf-quantize: converts GGUF, MLX or Hugging Face models to a GGUF with other tensor types.

#include "base/os/files.h"
#include "cli/quantize_tool.h"
#include "io/remote_address.h"
#include "tools.h"

using namespace modelutils;

namespace {}  // namespace

int modelutils::cli::gguf_quantize(int argc, char** argv) {
  cli::QuantizeArguments options;
  cli::Command command = cli::quantize_command(options);
  if (const auto status = command.parse(argc, argv)) return *status;
  const cli::Messages messages(command);
  if (options.threads) {
    if (*options.threads == 0 || *options.threads > 1024) {
      return messages.error(usage_error("--threads must be from 1 to 1024").value());
    }
    options.request.threads = static_cast<unsigned>(*options.threads);
  }
  if (options.follow_links) options.request.conversion.links = OutsideLinks::follow;
  if (const Status checked = cli::check_image_flags(options.request.conversion); !checked) {
    return messages.error(checked.error());
  }
  const auto adapters = cli::wanted_adapters(options.adapters);
  if (!adapters) return messages.error(adapters.error());
  options.request.conversion.adapters = *adapters;
  // With an adapter and no type options, a GGUF keeps its tensor types.
  if (!adapters->empty() && !options.types.is_wanted() && !is_remote_folder(options.request.input) &&
      !os::is_folder(options.request.input)) {
    options.types.like = options.request.input;
  }
  return cli::run_quantize(options.request, options.types, options.report, command.common(), messages);
}

// What a chat template can do, found by rendering it and comparing.
#pragma once

#include "template/template.h"

namespace modelutils::jinja {

struct Capabilities {
  bool system = false;      ///< the text of a system message is in the prompt
  bool tools = false;       ///< so is the name of a tool
  bool thinking = false;    ///< so is `reasoning_content`, or `enable_thinking` or `thinking` changes the prompt
  bool multimodal = false;  ///< an image in a message changes the prompt, the text with it being the same
};

/// Renders some short conversations, each within limits far below those of render(). After a rendering that goes beyond
/// them no other is tried.
Capabilities capabilities(const Template& parsed);

}  // namespace modelutils::jinja

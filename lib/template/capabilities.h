// The features that a chat template supports, found by rendering sample conversations and comparing the prompts.
#pragma once

#include "template/template.h"

namespace modelutils::jinja {

struct Capabilities {
  bool system = false;      ///< the prompt contains the text of a system message
  bool tools = false;       ///< the prompt contains a tool's name
  bool thinking = false;    ///< the prompt contains `reasoning_content`, or `enable_thinking` or `thinking` changes it
  bool multimodal = false;  ///< adding an image to a message changes the prompt
};

/// Renders some short conversations, each with limits far below render()'s defaults. Stops after the first one that
/// exceeds them.
Capabilities capabilities(const Template& parsed);

}  // namespace modelutils::jinja

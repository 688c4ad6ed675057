#include "c_api/handle.h"

const char* mu_text_data(const mu_text* text, uint64_t* size) {
  if (size != nullptr) *size = text == nullptr ? 0 : text->text.size();
  return text == nullptr ? nullptr : text->text.c_str();
}

void mu_text_free(mu_text* text) {
  delete text;
}

// Helpers for functions that return a mu_text.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "c_api/handle.h"

namespace modelutils::c_api {

/// Runs `body`, which appends to a text, and returns that text to the caller. `name` is the name of the output
/// argument.
template <typename Body>
mu_status give_report(mu_text** out, Body&& body, std::string_view name = "json") noexcept {
  return guarded([&]() -> Status {
    if (out == nullptr) return null_argument(name);
    *out = nullptr;
    auto result = std::make_unique<mu_text>();
    MU_TRY(body(result->text));
    *out = result.release();
    return {};
  });
}

inline Status check_flags(u32 flags, u32 known) {
  if ((flags & ~known) != 0) return bad_argument("unknown flags");
  return {};
}

}  // namespace modelutils::c_api

// The last error of each thread, and the boundary that exceptions do not cross.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "c_api/modelutils.h"

namespace modelutils::c_api {

/// Stores the error for the calling thread and returns the status for its code.
mu_status fail(Error error) noexcept;
/// Like fail(), for running out of memory; does not allocate.
mu_status fail_without_memory() noexcept;

/// Returns an error "api-argument"; `what` describes the wrong argument.
inline tl::unexpected<Error> bad_argument(std::string what) {
  return input_error("api-argument", std::move(what));
}
inline tl::unexpected<Error> null_argument(std::string_view name) {
  return bad_argument(std::string(name) + " is NULL");
}

/// Runs the body of an API function, which returns a Status, and converts errors and exceptions to a status.
template <typename Body>
mu_status guarded(Body&& body) noexcept {
  try {
    Status status = std::forward<Body>(body)();
    return status ? MU_OK : fail(std::move(status.error()));
  } catch (const std::bad_alloc&) {
    return fail_without_memory();
  } catch (const std::length_error&) {  // the size exceeds what a container can hold
    return fail_without_memory();
  } catch (const std::exception& exception) {
    return fail(internal_error(exception.what()).value());
  } catch (...) {
    return fail(internal_error("unknown exception").value());
  }
}

}  // namespace modelutils::c_api

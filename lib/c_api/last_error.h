// The last error of each thread, and the edge that no exception crosses.
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

/// Keeps the error for the calling thread and gives the status that its code stands for.
mu_status fail(Error error) noexcept;
/// The same without memory.
mu_status fail_without_memory() noexcept;

/// "api-argument": `what` says which argument is wrong.
inline tl::unexpected<Error> bad_argument(std::string what) {
  return input_error("api-argument", std::move(what));
}
inline tl::unexpected<Error> null_argument(std::string_view name) {
  return bad_argument(std::string(name) + " is NULL");
}

/// Runs the body of an API function, which gives a Status, and turns whatever comes out of it into a status.
template <typename Body>
mu_status guarded(Body&& body) noexcept {
  try {
    Status status = std::forward<Body>(body)();
    return status ? MU_OK : fail(std::move(status.error()));
  } catch (const std::bad_alloc&) {
    return fail_without_memory();
  } catch (const std::length_error&) {  // a container that can never be so large
    return fail_without_memory();
  } catch (const std::exception& exception) {
    return fail(internal_error(exception.what()).value());
  } catch (...) {
    return fail(internal_error("unknown exception").value());
  }
}

}  // namespace modelutils::c_api

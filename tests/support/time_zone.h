// The time zone of a test.
#pragma once

namespace modelutils::test {

/// Makes the local time of this process UTC.
void use_utc();

}  // namespace modelutils::test

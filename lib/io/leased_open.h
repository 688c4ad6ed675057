// Opening files that another process may hold under a lease.
#pragma once

namespace modelutils {

/// As ::openat(), for flags with O_NONBLOCK: where another process holds a lease (an edit in place that is under way),
/// the call says EWOULDBLOCK and asks it to end. This waits until it has, a minute at most; the system takes a lease
/// away after 45 seconds.
int open_when_released(int directory, const char* path, int flags);

}  // namespace modelutils

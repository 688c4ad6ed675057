// Opens files on which another process may hold a lease.
#pragma once

namespace modelutils {

/// Like ::openat(), for flags that include O_NONBLOCK. If another process holds a lease (an in-place edit), openat()
/// fails with EWOULDBLOCK and asks that process to release it. This function waits for the release, at most a minute;
/// the system revokes a lease after 45 seconds.
int open_when_released(int directory, const char* path, int flags);

}  // namespace modelutils

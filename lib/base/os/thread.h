// Threads that are joined when they are destroyed: std::jthread, which Apple's library does not have.
#pragma once

#include <thread>
#include <utility>

namespace modelutils::os {

#if defined(__cpp_lib_jthread)
using Thread = std::jthread;
#else
class Thread : public std::thread {
 public:
  using std::thread::thread;
  Thread(Thread&&) = default;
  Thread& operator=(Thread&&) = delete;
  ~Thread() {
    if (joinable()) join();
  }
};
#endif

enum class Processor : unsigned char { own, other };

/// On machines with two processors, starts a newly created thread on the calling thread's processor or on the other
/// one. Otherwise a kernel may leave it queued behind the creating thread until that thread's time slice ends
/// (measured: 1 to 4 ms instead of 0.05 ms), or leave two threads on one processor for 0.1 s. The thread may move
/// later. With more processors, and on systems other than Linux, the kernel chooses.
void begin_on(Thread& thread, Processor processor);

}  // namespace modelutils::os

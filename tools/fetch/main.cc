// The only program that speaks HTTP. Started by lib/io/remote_source.cc with a pipe each way:
//
//   -> ADDRESS \n TOKEN \n SECONDS \n            once; the token may be empty, SECONDS is the longest time without a
//   byte
//   -> OFFSET SIZE \n                            again and again
//   <- again MESSAGE \n                           while it tries again, then
//   <- ok BYTES TOTAL|- \n and that many bytes   or
//   <- failed CODE MESSAGE \n
//
// It ends when its standard input does.
#include <iostream>

#include "fetch/transfer.h"

int main() {
  std::ios::sync_with_stdio(false);
  fetch::Settings settings;
  if (!std::getline(std::cin, settings.address) || !std::getline(std::cin, settings.token) ||
      !(std::cin >> settings.silence)) {
    std::cerr << "fetch: started by the other tools of modelutils, for addresses\n";
    return 2;
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  {
    fetch::File file(std::move(settings));
    fetch::u64 offset = 0;
    fetch::u64 size = 0;
    std::string bytes;
    while (std::cin >> offset >> size) {
      if (const auto failed = file.read(offset, size, bytes)) {
        std::cout << "failed " << failed->code << ' ' << failed->message << std::endl;
        continue;
      }
      std::cout << "ok " << bytes.size() << ' ';
      if (file.total()) {
        std::cout << *file.total();
      } else {
        std::cout << '-';
      }
      std::cout << '\n' << bytes << std::flush;
    }
  }
  curl_global_cleanup();
  return 0;
}

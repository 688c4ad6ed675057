#include "fetch/host_addresses.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <sstream>

#include "fetch/exchange.h"
#include "fetch/program.h"

namespace fetch {

namespace {

constexpr int name_is_unknown = 6;
constexpr auto time_kept = std::chrono::seconds(60);

bool is_address(const std::string& text) {
  in6_addr bytes;
  return inet_pton(AF_INET, text.c_str(), &bytes) == 1 || inet_pton(AF_INET6, text.c_str(), &bytes) == 1;
}

HostAddresses look_up(const std::string& host, unsigned seconds) {
  HostAddresses found;
  if (is_address(host)) {
    found.all.push_back(host);
    return found;
  }
  const auto said = ask_program({"getent", "ahosts", host}, seconds);
  if (!said) {
    found.failure = Failure{"remote-network", "time-out: the name of the host is not resolved", true};
  } else if (said->error != 0) {
    found.failure =
        Failure{"remote-helper", said->error == ENOENT
                                     ? "the program that reads addresses needs getent, which is not in the PATH"
                                     : "the program that reads addresses cannot start getent"};
  } else {
    found.all = addresses_in(said->output);
    if (said->status != 0 || found.all.empty()) found.failure = network_failure(name_is_unknown, {});
  }
  return found;
}

}  // namespace

std::vector<std::string> addresses_in(const std::string& said) {
  std::vector<std::string> all;
  std::istringstream lines(said);
  std::string line;
  while (std::getline(lines, line)) {
    const std::string address = line.substr(0, line.find_first_of(" \t"));
    if (is_address(address) && std::find(all.begin(), all.end(), address) == all.end()) all.push_back(address);
  }
  return all;
}

const HostAddresses& addresses_of(const std::string& host, unsigned seconds) {
  using Clock = std::chrono::steady_clock;
  struct Known {
    HostAddresses found;
    Clock::time_point until;
  };
  static std::map<std::string, Known> known;
  const auto now = Clock::now();
  Known& entry = known[host];
  if (entry.found.all.empty() || entry.found.failure || now > entry.until) {
    entry = {look_up(host, seconds), now + time_kept};
  }
  return entry.found;
}

}  // namespace fetch

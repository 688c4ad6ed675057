#include "fetch/exchange.h"

namespace fetch {

namespace {

struct Reason {
  int number;  // a CURLcode, which is also curl's exit status: curl(1), "EXIT CODES"
  const char* message;
  bool is_final;  // an immediate retry would not help
  bool is_unknown_host = false;
};

constexpr Reason reasons[] = {
    {1, "the protocol of the address is not supported", true},
    {3, "the address is not well-formed", true},
    {5, "the proxy's name cannot be resolved", true, true},
    {6, "the host's name cannot be resolved: check its spelling and the network", true, true},
    {7, "cannot connect to the server", true},  // refused; curl --retry does not retry it either
    {18, "the connection was cut", false},
    {28, "timed out: no response", true},  // the user's time limit has expired
    {35, "no TLS connection could be made", false},
    {51, "the server's certificate is not trusted", true},  // curl before 7.62
    {52, "the connection was cut", false},
    {56, "the connection was cut", false},
    {60, "the server's certificate is not trusted", true},
    {77, "the trusted certificates cannot be read", true},
};

}  // namespace

Failure network_failure(int number, const std::string& otherwise) {
  for (const Reason& reason : reasons) {
    if (reason.number == number) return {"remote-network", reason.message, !reason.is_final, 0, reason.is_unknown_host};
  }
  return {"remote-network", otherwise, true};
}

}  // namespace fetch

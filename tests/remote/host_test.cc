// Tests parsing of getent's output (Debian's form), and which hosts bypass the proxy (curl(1), NO_PROXY).
#include <gtest/gtest.h>

#include <cstdlib>

#include "fetch/host_addresses.h"
#include "fetch/proxy.h"

namespace fetch {
namespace {

TEST(Addresses, OfAHostEachOnce) {
  EXPECT_EQ(addresses_in("::1             STREAM localhost\n::1             DGRAM\n::1             RAW\n"
                         "127.0.0.1       STREAM\n127.0.0.1       DGRAM\n"),
            (std::vector<std::string>{"::1", "127.0.0.1"}));
  EXPECT_EQ(addresses_in("192.0.2.1  host\n"), std::vector<std::string>{"192.0.2.1"});  // without a type
  EXPECT_EQ(addresses_in("\nnonsense\n1.2.3.4.5 STREAM x\nfe80::1%eth0 STREAM x\n"), std::vector<std::string>());
}

TEST(Addresses, AnAddressIsItself) {
  EXPECT_EQ(addresses_of("192.0.2.1", 1).all, std::vector<std::string>{"192.0.2.1"});
  EXPECT_EQ(addresses_of("2001:db8::1", 1).all, std::vector<std::string>{"2001:db8::1"});
}

TEST(Proxies, ListsOfHostsThatHaveNone) {
  EXPECT_TRUE(is_listed("any.example", "*"));
  EXPECT_TRUE(is_listed("host.example", "x, .Example"));
  EXPECT_TRUE(is_listed("host.example", "host.example."));
  EXPECT_TRUE(is_listed("10.1.2.3", "other,10.0.0.0/8"));
  EXPECT_TRUE(is_listed("10.127.0.1", "10.64.0.0/10"));
  EXPECT_TRUE(is_listed("fd00::7", "[fd00::7]"));
  EXPECT_TRUE(is_listed("fd00::7", "fd00::/8"));
  EXPECT_FALSE(is_listed("host.example", ""));
  EXPECT_FALSE(is_listed("host.example", "ost.example"));
  EXPECT_FALSE(is_listed("example", "host.example"));
  EXPECT_FALSE(is_listed("10.128.0.1", "10.64.0.0/10"));
  EXPECT_FALSE(is_listed("10.1.2.3", "10.0.0.0/40"));
  EXPECT_FALSE(is_listed("10.1.2.3", "2.3"));
}

TEST(Proxies, FromTheVariables) {
  for (const char* name :
       {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY", "no_proxy", "NO_PROXY"}) {
    ::unsetenv(name);
  }
  ::setenv("HTTP_PROXY", "http://wrong:1", 1);
  EXPECT_EQ(proxy_for(*parse_url("http://host/")), "");
  ::setenv("HTTPS_PROXY", "http://proxy:3128", 1);
  EXPECT_EQ(proxy_for(*parse_url("https://host/")), "http://proxy:3128");
  EXPECT_EQ(proxy_for(*parse_url("http://host/")), "");
  ::setenv("all_proxy", "socks5h://other:1080", 1);
  EXPECT_EQ(proxy_for(*parse_url("http://host/")), "socks5h://other:1080");
  ::setenv("no_proxy", "host", 1);
  EXPECT_EQ(proxy_for(*parse_url("https://host/")), "");
  EXPECT_EQ(proxy_host("http://me:secret@proxy.example:3128"), "proxy.example");
  EXPECT_EQ(proxy_host("proxy.example:3128"), "proxy.example");
  EXPECT_EQ(proxy_host("[::1]:3128"), "::1");
  EXPECT_EQ(proxy_host("http://"), "");
}

}  // namespace
}  // namespace fetch

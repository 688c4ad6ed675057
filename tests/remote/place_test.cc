// Tests the classes of addresses: of this machine, private and public, by IANA's registries of special-purpose
// addresses (RFC 6890 and its successors).
#include "fetch/place.h"

#include <gtest/gtest.h>

namespace fetch {
namespace {

TEST(PrivateAddresses, OfThisMachineAndOfNetworks) {
  for (const char* address : {"0.0.0.0",
                              "0.255.255.255",
                              "10.0.0.1",
                              "10.255.255.255",
                              "100.64.0.0",
                              "100.127.255.255",
                              "127.0.0.1",
                              "127.255.255.255",
                              "169.254.169.254",
                              "172.16.0.0",
                              "172.31.255.255",
                              "192.0.0.8",
                              "192.168.0.1",
                              "224.0.0.1",
                              "255.255.255.255",
                              "::",
                              "::1",
                              "fe80::1",
                              "fe80::1%eth0",
                              "febf::1",
                              "fec0::1",
                              "fc00::1",
                              "fdff::1",
                              "ff02::1",
                              "::ffff:127.0.0.1",
                              "::ffff:10.1.2.3",
                              "::127.0.0.1",
                              "64:ff9b::10.0.0.1",
                              "2002:7f00:1::",
                              "2002:c0a8:101::1",
                              "",
                              "localhost",
                              "1.2.3",
                              "1.2.3.4:80"}) {
    EXPECT_TRUE(is_private(std::string(address))) << address;
  }
}

TEST(PrivateAddresses, OthersAreNot) {
  for (const char* address :
       {"1.1.1.1",         "9.255.255.255", "11.0.0.0",        "100.63.255.255",   "100.128.0.0",
        "126.255.255.255", "128.0.0.0",     "169.253.255.255", "169.255.0.0",      "172.15.255.255",
        "172.32.0.0",      "192.0.1.0",     "192.167.255.255", "192.169.0.0",      "223.255.255.255",
        "2606:4700::1111", "2a00::1",       "::ffff:8.8.8.8",  "64:ff9b::8.8.8.8", "2002:808:808::1"}) {
    EXPECT_FALSE(is_private(std::string(address))) << address;
  }
}

TEST(Addresses, OfThisMachine) {
  for (const char* address : {"127.0.0.1", "127.255.0.9", "::1"}) EXPECT_TRUE(is_loopback(address)) << address;
  for (const char* address : {"", "126.0.0.1", "10.0.0.1", "127.1", "127.0.0.1.example", "localhost",
                              "::", "2001:db8::1", "2002:808:808::7f00:1", "64:ff9b::127.0.0.1"}) {
    EXPECT_FALSE(is_loopback(address)) << address;
  }
}

TEST(Addresses, AreInTheUsualForm) {
  for (const char* text : {"192.0.2.1", "2001:db8::1", "::ffff:192.0.2.1"}) EXPECT_TRUE(is_address(text)) << text;
  for (const char* text : {"", "1.2.3", "0x7f000001", "2130706433", "[::1]", "fe80::1%eth0", "1.2.3.4:80", "host"}) {
    EXPECT_FALSE(is_address(text)) << text;
  }
}

}  // namespace
}  // namespace fetch

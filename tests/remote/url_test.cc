// Tests splitting of URLs and resolution of redirects: the examples of RFC 3986, 5.4, and texts that must not be
// accepted as a host.
#include "fetch/url.h"

#include <gtest/gtest.h>

namespace fetch {
namespace {

TEST(Origins, HaveSchemeHostAndPort) {
  EXPECT_EQ(origin_of("https://huggingface.co/a/b?c=d"), "https://huggingface.co:443");
  EXPECT_EQ(origin_of("http://localhost:8080"), "http://localhost:8080");
  EXPECT_EQ(origin_of("HTTP://[FD00::1]:080/x"), "http://[fd00::1]:80");
  EXPECT_NE(origin_of("http://host/"), origin_of("https://host/"));
  EXPECT_NE(origin_of("https://host:444/"), origin_of("https://host/"));
  EXPECT_EQ(origin_of("https://HOST:443/"), origin_of("https://host/"));
}

TEST(Addresses, UsersAndQueriesAreSeen) {
  EXPECT_TRUE(has_user("https://me@host/"));
  EXPECT_TRUE(has_user("https://:secret@host/"));
  EXPECT_FALSE(has_user("https://host/@me"));
  EXPECT_EQ(origin_of("https://good.example@evil.example/"), "https://evil.example:443");
  EXPECT_EQ(shown("https://host/file?signature=x#y"), "https://host/file");
  EXPECT_EQ(shown("https://host/file#?"), "https://host/file");
}

TEST(Addresses, WhatOthersMightReadOtherwiseIsNone) {
  for (const char* text : {"",
                           "host",
                           "//host/",
                           "https:/host",
                           "https://",
                           "https:///path",
                           "https://good.example\\@evil.example/",
                           "https://good.example\\.evil.example/",
                           "https://a b/",
                           "https://host%2eexample/",
                           "https://host:65536/",
                           "https://host:80:80/",
                           "https://host:8o/",
                           "https://[::1/",
                           "https://[::1]x/",
                           "https://[::g]/",
                           "https://[fe80::1%25eth0]/",
                           "https://host\n/",
                           "https://host/\r\nX: y",
                           "https://host\t.example/",
                           "1https://host/",
                           "https://ho<st/",
                           "https://{a,b}/"}) {
    EXPECT_FALSE(parse_url(text)) << text;
    EXPECT_EQ(origin_of(text), "") << text;
  }
}

TEST(Redirects, LeadWhereTheRfcSays) {
  const std::string base = "http://a/b/c/d;p?q";
  // Segments "." and ".." are kept; the code that sends the request removes them.
  const std::pair<const char*, const char*> examples[] = {{"g:h", "g:h"},
                                                          {"g", "http://a/b/c/g"},
                                                          {"./g", "http://a/b/c/./g"},
                                                          {"g/", "http://a/b/c/g/"},
                                                          {"/g", "http://a/g"},
                                                          {"//g", "http://g"},
                                                          {"?y", "http://a/b/c/d;p?y"},
                                                          {"g?y", "http://a/b/c/g?y"},
                                                          {"#s", "http://a/b/c/d;p?q"},
                                                          {"g#s", "http://a/b/c/g"},
                                                          {"g?y#s", "http://a/b/c/g?y"},
                                                          {";x", "http://a/b/c/;x"},
                                                          {"", "http://a/b/c/d;p?q"},
                                                          {"https://h:1/i", "https://h:1/i"},
                                                          {"  /g ", "http://a/g"},
                                                          {"/a b\xC3\xA4", "http://a/a%20b%C3%A4"},
                                                          {"/a\x01", ""},
                                                          {"//user@h/", "http://user@h/"}};
  for (const auto& [location, expected] : examples) EXPECT_EQ(resolve_reference(base, location), expected) << location;
  EXPECT_EQ(resolve_reference("https://h", "x"), "https://h/x");
  EXPECT_EQ(resolve_reference("https://h?q", "?x"), "https://h/?x");
  EXPECT_EQ(resolve_reference(base, "file:///etc/passwd"), "file:///etc/passwd");
  EXPECT_EQ(scheme_of("file:///etc/passwd"), "");  // has no host
}

}  // namespace
}  // namespace fetch

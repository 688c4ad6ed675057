// Names of models in stores: what is accepted, and where it leads.
#include "store/store_names.h"

#include <gtest/gtest.h>

#include <string>

#include "store/store_walk.h"
#include "store/stores.h"

namespace modelutils {
namespace {

TEST(StoreNames, PrefixesAreNamesAddressesAreNot) {
  EXPECT_EQ(store_name("ollama:llama3.2").value().kind, StoreKind::ollama);
  EXPECT_EQ(store_name("ollama:llama3.2").value().rest, "llama3.2");
  EXPECT_EQ(store_name("lmstudio:a/b").value().kind, StoreKind::lm_studio);
  EXPECT_EQ(store_name("hf:a/b").value().kind, StoreKind::hub);
  EXPECT_EQ(store_name("llama.cpp:a.gguf").value().kind, StoreKind::llama_cpp);
  for (const char* other : {"hf://a/b", "ollama", "ollamas:x", "./ollama:x", "HF:a/b", "C:/a", "", ":"}) {
    EXPECT_FALSE(store_name(other).has_value()) << other;
  }
}

// Expected values from Ollama's types/model/name.go: host, namespace, model and tag with their defaults.
TEST(StoreNames, OllamaFillsInHostNamespaceAndTag) {
  EXPECT_EQ(ollama_manifest_path("llama3.2"), "registry.ollama.ai/library/llama3.2/latest");
  EXPECT_EQ(ollama_manifest_path("llama3.2:1b"), "registry.ollama.ai/library/llama3.2/1b");
  EXPECT_EQ(ollama_manifest_path("me/mine"), "registry.ollama.ai/me/mine/latest");
  EXPECT_EQ(ollama_manifest_path("hf.co/org/repo-GGUF:Q4_K_M"), "hf.co/org/repo-GGUF/Q4_K_M");
  EXPECT_EQ(ollama_manifest_path("localhost:5000/a/b"), "localhost:5000/a/b/latest");
  EXPECT_EQ(ollama_manifest_path("localhost:5000/a/b:c"), "localhost:5000/a/b/c");
}

TEST(StoreNames, OllamaNamesCannotLeaveTheFolder) {
  for (const char* name : {"",  ":",  "a:",   ":a",   "..",  "../a", "a/..",      "a/../b",  "/a",    "a/",  "a//b",
                           ".", "-a", "a:..", "a:.x", "a b", "a\\b", "a/b/c/d/e", "h/n.s/m", "a:b:c", "a\nb"}) {
    EXPECT_FALSE(ollama_manifest_path(name).has_value()) << name;
  }
  EXPECT_FALSE(ollama_manifest_path(std::string(81, 'a')).has_value());
  EXPECT_TRUE(ollama_manifest_path(std::string(80, 'a')).has_value());
}

TEST(StoreNames, OllamaNamesAreShownWithoutDefaults) {
  EXPECT_EQ(ollama_display_name("registry.ollama.ai/library/llama3.2/latest"), "llama3.2:latest");
  EXPECT_EQ(ollama_display_name("registry.ollama.ai/me/mine/7b"), "me/mine:7b");
  EXPECT_EQ(ollama_display_name("hf.co/org/repo/Q4"), "hf.co/org/repo:Q4");
}

TEST(StoreNames, RepositoriesAndTheirFolders) {
  EXPECT_EQ(hub_folder_name("Qwen/Qwen3-8B"), "models--Qwen--Qwen3-8B");
  EXPECT_EQ(hub_repository_of("models--Qwen--Qwen3-8B"), "Qwen/Qwen3-8B");
  EXPECT_EQ(hub_repository_of("models--gpt2"), "gpt2");
  EXPECT_EQ(hub_repository_of("datasets--a--b"), "");
}

TEST(StoreNames, CommitsAndCompanions) {
  EXPECT_TRUE(is_commit(std::string(40, 'a')));
  EXPECT_FALSE(is_commit(std::string(39, 'a')));
  EXPECT_FALSE(is_commit(std::string(40, 'g')));
  EXPECT_TRUE(is_companion_name("x/mmproj-model-f16.gguf"));
  EXPECT_TRUE(is_companion_name("model.imatrix.gguf"));
  EXPECT_FALSE(is_companion_name("mmproj/model.gguf"));
}

}  // namespace
}  // namespace modelutils

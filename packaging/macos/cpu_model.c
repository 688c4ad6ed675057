// What __builtin_cpu_supports() asks. On a Mac it is in clang's own library (libclang_rt.osx.a), which
// packaging/macos/sdk has no source for; here it describes a processor without extensions.
extern struct { unsigned vendor, type, subtype, features[1]; } __cpu_model __attribute__((visibility("hidden")));
extern unsigned __cpu_features2[3] __attribute__((visibility("hidden")));
int __cpu_indicator_init(void) __attribute__((visibility("hidden")));

__typeof__(__cpu_model) __cpu_model = {0, 0, 0, {0}};
unsigned __cpu_features2[3] = {0, 0, 0};
int __cpu_indicator_init(void) {
  return 0;
}

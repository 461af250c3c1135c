// Writes seccomp_tables.cc: the filters of the common plans as arrays, so that a run need not spend 1.7 ms in libseccomp.
#include <cstdio>
#include <string>

#include "isolation/seccomp_compile.h"

namespace {

void write_program(const std::string& name, const std::vector<sock_filter>& program) {
  std::printf("constexpr sock_filter %s[] = {\n", name.c_str());
  for (const sock_filter& i : program) std::printf("{%u, %u, %u, %u},\n", i.code, i.jt, i.jf, i.k);
  std::printf("};\n");
}

}  // namespace

int main() {
  using namespace podjail;
  std::printf("#include \"isolation/seccomp_compile.h\"\n\nnamespace podjail {\nnamespace {\n");
  std::string rows;
  for (const auto base : {Policy::SyscallBase::python, Policy::SyscallBase::exec}) {
    for (const bool execute : {false, true}) {
      SeccompPlan plan;
      plan.on = true;
      plan.base = base;
      plan.execute = execute;
      const auto filters = compile_by_libseccomp(plan, 1);
      if (!filters) {
        std::fprintf(stderr, "%s\n", filters.error().message().c_str());
        return 1;
      }
      const std::string base_name = base == Policy::SyscallBase::python ? "python" : "exec";
      const std::string suffix = "_" + base_name + (execute ? "_execute" : "");
      write_program("guard" + suffix, filters->guard);
      write_program("allow_list" + suffix, filters->allow_list);
      rows += "{Policy::SyscallBase::" + base_name + ", " + (execute ? "true" : "false") + ", guard" + suffix + ", allow_list" + suffix +
              "},\n";
    }
  }
  std::printf("constexpr PrebuiltFilters kTable[] = {\n%s};\n}  // namespace\n\n", rows.c_str());
  std::printf("std::span<const PrebuiltFilters> prebuilt_filters() { return kTable; }\n\n}  // namespace podjail\n");
  return 0;
}

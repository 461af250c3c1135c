#include "policy/parse.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/sha256.h"
#include "policy/profiles.h"

namespace podjail {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
namespace fs = std::filesystem;

// A policy document with the given members.
std::string document(const std::string& members) {
  return R"({"schema": "podjail.policy/v1")" + (members.empty() ? "" : ", " + members) + "}";
}

PolicyExpected<Policy> parse(const std::string& members, const std::vector<std::string>& sets = {}) {
  return parse_policy(document(members), "p.json", sets);
}

std::vector<std::string> described(const PolicyExpected<Policy>& policy) {
  std::vector<std::string> lines;
  if (!policy)
    for (const PolicyProblem& problem : policy.error()) lines.push_back(describe(problem));
  return lines;
}

TEST(Profiles, AreValidAndNamedLikeTheirFiles) {
  for (const Profile& profile : builtin_profiles()) {
    const auto policy = load_policy(std::string(profile.name), {});
    ASSERT_TRUE(policy) << described(policy).front();
    EXPECT_EQ(policy->name, profile.name);
    EXPECT_EQ(policy->sha256, sha256_hex(policy->canonical_json));
  }
  EXPECT_TRUE(std::ranges::is_sorted(builtin_profiles(), {}, &Profile::name));
  EXPECT_FALSE(find_profile("nosuch"));
  EXPECT_TRUE(find_schema("policy") && find_schema("result"));
  EXPECT_FALSE(find_schema("nosuch"));
}

TEST(Profiles, DefaultIsWhatTheContractSays) {
  const Policy p = load_policy("default", {}).value();
  EXPECT_TRUE(p.validation.enabled);
  EXPECT_FALSE(p.validation.allow_imports);
  EXPECT_EQ(p.validation.max_script, 4U << 20);
  EXPECT_EQ(p.audit_action, Policy::AuditAction::deny);
  EXPECT_EQ(p.limits.wall, milliseconds(60'000));
  EXPECT_EQ(p.limits.grace, milliseconds(5'000));
  EXPECT_EQ(p.limits.cpu, milliseconds(60'000));
  EXPECT_EQ(p.limits.memory, 512U << 20);
  EXPECT_EQ(p.limits.processes, 1U);
  EXPECT_EQ(p.limits.threads, 64U);
  EXPECT_EQ(p.limits.open_files, 256U);
  EXPECT_EQ(p.limits.stdout_kept, 1U << 20);
  EXPECT_EQ(p.limits.output, 256U << 20);
  EXPECT_EQ(p.limits.return_value, 1U << 20);
  EXPECT_EQ(p.syscalls.base, Policy::SyscallBase::python);
  EXPECT_THAT(p.isolation.require, ElementsAre("no_new_privs", "seccomp", "landlock.filesystem", "rlimits"));
  EXPECT_EQ(p.isolation.namespaces, Policy::Namespaces::if_available);
  EXPECT_EQ(p.result_text, 64U << 10);
  EXPECT_THAT(p.network.connect_tcp, IsEmpty());
  EXPECT_THAT(p.filesystem.write, IsEmpty());
}

TEST(ParsePolicy, BuildsOnDefaultAndMergesByKey) {
  const Policy p = parse(R"("limits": {"wall": "5s", "cpu": null}, "network": {"connect_tcp": [443]}, "environment": {"set": {"A": "1"}})",
                         {"environment.set.B=2", "network.connect_tcp=[80]"})
                       .value();
  EXPECT_EQ(p.limits.wall, milliseconds(5'000));
  EXPECT_EQ(p.limits.cpu, std::nullopt);
  EXPECT_EQ(p.limits.memory, 512U << 20);                // default's
  EXPECT_THAT(p.network.connect_tcp, ElementsAre(80));   // lists replace
  EXPECT_THAT(p.environment.set, ::testing::SizeIs(2));  // maps merge
  EXPECT_EQ(p.name, "custom");
}

TEST(ParsePolicy, ReadsUnitsAndWritesOneForm) {
  const Policy a =
      parse(
          R"("limits": {"wall": "1m30s", "grace": 0.5, "memory": 67108864, "scratch": "1.5Gi"}, "filesystem": {"read": ["/usr//lib/", "/"]})")
          .value();
  const Policy b =
      parse(R"("limits": {"wall": 90, "grace": "500ms", "memory": "64Mi", "scratch": "1536Mi"}, "filesystem": {"read": ["/usr/lib", "/"]})")
          .value();
  EXPECT_EQ(a.canonical_json, b.canonical_json);
  EXPECT_EQ(a.sha256, b.sha256);
  EXPECT_THAT(a.canonical_json, HasSubstr(R"("grace":"500ms")"));
  EXPECT_THAT(a.canonical_json, HasSubstr(R"("wall":"90s")"));
  EXPECT_THAT(a.canonical_json, HasSubstr(R"("memory":"64Mi")"));
  // The canonical form is a policy, and the same one.
  EXPECT_EQ(parse_policy(a.canonical_json, "c.json", {}).value().sha256, a.sha256);
}

struct Bad {
  const char *members, *at, *says;  // `at`: the last such token is where it points
};

TEST(ParsePolicy, RefusesWithPlaceAndReason) {
  constexpr Bad kCases[] = {
      {R"("limits": {"wall": 0})", R"(0)", "/limits/wall: 0 is not a limit; use null for none"},
      {R"("limits": {"wall": "0s"})", R"("0s")", "/limits/wall: 0 is not a limit; use null for none"},
      {R"("limits": {"memory": "64Ki"})", R"("64Ki")", "/limits/memory: 64Ki is below the 16Mi that Python needs"},
      {R"("limits": {"memory": -1})", R"(-1)", "/limits/memory: \"-1\" is negative"},
      {R"("limits": {"memory": 1.5})", R"(1.5)", "/limits/memory: \"1.5\" is not a whole number of bytes"},
      {R"("limits": {"memory": true})", R"(true)",
       "/limits/memory: must be a size such as \"512Mi\" or a number of bytes, or null, not true"},
      {R"("limits": {"memory": 18446744073709551615})", R"(18446744073709551615)",
       "/limits/memory: \"18446744073709551615\" is more than 2^63-1 bytes"},
      {R"("limits": {"memory": 99999999999999999999})", R"(99999999999999999999)",
       "/limits/memory: the integer 99999999999999999999 is out of range"},
      {R"("limits": {"processes": 0})", R"(0)", "/limits/processes: 0 is not a limit; use null for none"},
      {R"("limits": {"processes": "2"})", R"("2")", "/limits/processes: must be a whole number or null, not a string"},
      {R"("limits": {"processes": 4194305})", R"(4194305)", "/limits/processes: 4194305 is above the 4194304 that Linux can number"},
      {R"("limits": {"open_files": 15})", R"(15)", "/limits/open_files: 15 is below the 16 that Python needs"},
      {R"("limits": {"stdout": null})", R"(null)", "/limits/stdout: must be a size such as \"512Mi\" or a number of bytes, not null"},
      {R"("limits": {"grace": "-1s"})", R"("-1s")", "/limits/grace: \"-1s\" is negative"},
      {R"("limits": {"return_value": 0})", R"(0)", "/limits/return_value: 0 makes no sense here"},
      {R"("limits": {"wal": 5})", R"("wal")", "/limits/wal: no such key; did you mean \"limits.wall\"?"},
      {R"("limits": [])", R"([)", "/limits: must be an object, not a list"},
      {R"("limit": {})", R"("limit")", "/limit: no such key; did you mean \"limits\"?"},
      {R"("wall": 5)", R"("wall")", "/wall: no such key; did you mean \"limits.wall\"?"},
      {R"("limits.wall": 5)", R"("limits.wall")", "/limits.wall: no such key; each dot is an object of its own: {\"limits\": {…}}"},
      {R"("": 5)", R"("")", "/: no such key"},
      {R"("idempotent": 1)", R"(1)", "/idempotent: must be true or false, not the number 1"},
      {R"("name": "a b")", R"("a b")",
       "/name: \"a b\" is not a name: 1 to 63 letters, digits, '.', '_' and '-', the first a letter or digit"},
      {R"("schema": "x")", R"("schema")", "/schema: duplicate key"},
      {R"("network": {"bind_tcp": [65536]})", R"(65536)", "/network/bind_tcp/0: must be a port from 1 to 65535, not the number 65536"},
      {R"("network": {"bind_tcp": [0]})", R"(0)", "/network/bind_tcp/0: must be a port from 1 to 65535, not the number 0"},
      {R"("filesystem": {"read": ["usr"]})", R"("usr")", "/filesystem/read/0: \"usr\" is not an absolute path"},
      {R"("filesystem": {"read": ["/a/../b"]})", R"("/a/../b")", "/filesystem/read/0: \"/a/../b\" has a \"..\" part"},
      {R"("filesystem": {"write": ["/a\u0000"]})", R"("/a\u0000")", "/filesystem/write/0: the path has a NUL"},
      {R"("validation": {"rules": {"PJ1": "warn"}})", R"("PJ1")", "/validation/rules/PJ1: \"PJ1\" is not a rule id such as \"PJ101\""},
      {R"("validation": {"rules": {"PJ101": "warm"}})", R"("warm")",
       "/validation/rules/PJ101: must be one of off, warn, error, not \"warm\"; did you mean \"warn\"?"},
      {R"("validation": {"imports": {"deny": ["a..b"]}})", R"("a..b")",
       "/validation/imports/deny/0: \"a..b\" is not a module name such as \"socket\" or \"http.server\""},
      {R"("validation": {"builtins": {"deny": ["ev al"]}})", R"("ev al")",
       "/validation/builtins/deny/0: \"ev al\" is not a name such as \"eval\""},
      {R"("environment": {"set": {"LD_PRELOAD": "x"}})", R"("LD_PRELOAD")",
       "/environment/set/LD_PRELOAD: LD_PRELOAD is the dynamic loader's"},
      {R"("environment": {"set": {"PODJAIL_KEY": "x"}})", R"("PODJAIL_KEY")", "/environment/set/PODJAIL_KEY: PODJAIL_KEY is podjail's own"},
      {R"("environment": {"set": {"1A": "x"}})", R"("1A")", "/environment/set/1A: \"1A\" is not the name of an environment variable"},
      {R"("environment": {"pass": ["LD_*"]})", R"("LD_*")", "/environment/pass/0: \"LD_*\" takes in LD_*, which is the dynamic loader's"},
      {R"("environment": {"pass": ["L*"]})", R"("L*")", "/environment/pass/0: \"L*\" takes in LD_*, which is the dynamic loader's"},
      {R"("environment": {"pass": ["*"]})", R"("*")", "/environment/pass/0: \"*\" takes in PODJAIL_*, which is podjail's own"},
      {R"("environment": {"pass": ["A*B"]})", R"("A*B")", "/environment/pass/0: \"A*B\" is not the name of an environment variable"},
      {R"("isolation": {"require": ["secomp"]})", R"("secomp")",
       "/isolation/require/0: \"secomp\" is not a layer; did you mean \"seccomp\"?"},
      {R"("isolation": {"namespaces": "if_available"})", R"("if_available")",
       "/isolation/namespaces: must be one of never, if-available, always, not \"if_available\"; did you mean \"if-available\"?"},
      {R"("syscalls": {"allow": ["Open"]})", R"("Open")",
       "/syscalls/allow/0: \"Open\" is not the kernel's name of a system call such as \"openat\""},
      {R"("python": {"version": 3.11})", R"(3.11)", "/python/version: must be a string, not the number 3.11"},
      {R"("python": {"version": "2.7"})", R"("2.7")", "/python/version: \"2.7\" is not a Python version such as \"3.11\""},
      {R"("extends": 5)", R"(5)", "/extends: must be the name of a built-in policy or the path of a policy file, not the number 5"},
      {R"("extends": "./base.json")", R"("./base.json")", "/extends: a relative path needs a policy file to start from"},
  };
  for (const auto& [members, at, says] : kCases) {
    const std::string place = "p.json:1:" + std::to_string(document(members).rfind(at) + 1) + ": ";
    EXPECT_THAT(described(parse(members)), ElementsAre(place + says)) << members;
  }
}

TEST(ParsePolicy, ReportsEverythingInDocumentOrder) {
  const auto policy = parse_policy(
      "{\n \"limits\": {\"wall\": 0, \"wal\": 1},\n \"network\": {\"connect_tcp\": [0, 80, 70000]},\n \"limits\": 3,\n \"schema\": "
      "\"podjail.policy/v9\"\n}",
      "p.json", std::vector<std::string>{"limits.cpu=0"});
  EXPECT_THAT(described(policy),
              ElementsAre(HasSubstr("p.json:2:21: /limits/wall: 0"), HasSubstr("p.json:2:24: /limits/wal: no such key"),
                          HasSubstr("p.json:3:30: /network/connect_tcp/0"), HasSubstr("p.json:3:37: /network/connect_tcp/2"),
                          HasSubstr("p.json:4:2: /limits: duplicate key"), HasSubstr("p.json:5:12: /schema: must be \"podjail.policy/v1\""),
                          HasSubstr("--set limits.cpu=0: /limits/cpu: 0 is not a limit")));
}

TEST(ParsePolicy, NeedsAnObjectWithASchema) {
  EXPECT_THAT(described(parse_policy("{}", "p.json", {})), ElementsAre(HasSubstr("p.json:1:1: /schema: is missing")));
  EXPECT_THAT(described(parse_policy("[]", "p.json", {})), ElementsAre("p.json:1:1: a policy must be an object, not a list"));
  EXPECT_THAT(described(parse_policy("", "p.json", {})),
              ElementsAre("p.json:1:1: unexpected end of input; expected '[', '{', or a literal"));
  EXPECT_THAT(described(parse_policy("{\"a\": NaN}", "p.json", {})), ElementsAre(HasSubstr("p.json:1:7: /a: NaN")));
}

TEST(ParsePolicy, KeepsProblemsToOneLine) {
  const auto lines = described(parse(R"("a\nb\u001b[31m": 1)"));
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0].find_first_of("\n\x1b"), std::string::npos);
}

TEST(SetOption, TakesJsonOrABareString) {
  const std::vector<std::string> sets = {"limits.wall=5s",
                                         "limits.cpu=null",
                                         "limits.processes=8",
                                         "python.version=3.12",
                                         "environment.set.X=1",
                                         "idempotent=true",
                                         "filesystem.execute=[\"/usr/bin\"]",
                                         "limits.wall=2.5",
                                         "limits={\"threads\": 3}"};
  const Policy p = load_policy("default", sets).value();
  EXPECT_EQ(p.limits.wall, milliseconds(2'500));  // the later one
  EXPECT_EQ(p.limits.cpu, std::nullopt);
  EXPECT_EQ(p.limits.processes, 8U);
  EXPECT_EQ(p.limits.threads, 3U);
  EXPECT_EQ(p.python.version, "3.12");
  EXPECT_EQ(p.environment.set.at("X"), "1");
  EXPECT_TRUE(p.idempotent);
  EXPECT_THAT(p.filesystem.execute, ElementsAre("/usr/bin"));
}

TEST(SetOption, SaysWhatIsWrong) {
  const std::pair<const char*, const char*> cases[] = {
      {"limits.wal=5s", "--set limits.wal=5s: /limits/wal: no such key; did you mean \"limits.wall\"?"},
      {"limit.wall=5s", "/limit: no such key; did you mean \"limits\"?"},
      {"limits=5", "/limits: must be an object, not the number 5"},
      {"limits.wall.x=5", "/limits/wall: must be a duration"},
      {"limits.wall=", "/limits/wall: an empty duration"},
      {"network.connect_tcp=443", "/network/connect_tcp: must be a list, not the number 443"},
      {"limits.wall", "write it as PATH=VALUE"},
      {"=5", "write it as PATH=VALUE"},
      {"limits..wall=5", "write it as PATH=VALUE"},
      {"extends=strict", "/extends: can't be set"},
      {"schema=x", "/schema: must be"},
      {"limits={\"cpu\": 1, \"cpu\": 2}", "/cpu: duplicate key"},
      {"environment.set.LD_X=1", "LD_X is the dynamic loader's"},
  };
  for (const auto& [set, says] : cases) {
    const auto lines = described(load_policy("default", std::vector<std::string>{set}));
    ASSERT_EQ(lines.size(), 1U) << set;
    EXPECT_THAT(lines[0], HasSubstr(says)) << set;
  }
}

class PolicyFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "podjail-policy-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string write(const std::string& name, const std::string& text) {
    const fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path.string();
  }
  fs::path folder_;
};

TEST_F(PolicyFiles, ExtendRelativeToTheExtendingFile) {
  write("base.json", document(R"("extends": "strict", "limits": {"wall": "7s", "cpu": "7s"})"));
  const std::string path = write("team/policy.json", document(R"("extends": "../base.json", "limits": {"cpu": "3s"})"));
  const Policy p = load_policy(path, {}).value();
  EXPECT_EQ(p.name, "policy");
  EXPECT_EQ(p.limits.wall, milliseconds(7'000));
  EXPECT_EQ(p.limits.cpu, milliseconds(3'000));
  EXPECT_TRUE(p.validation.allow_imports);  // strict's
}

TEST_F(PolicyFiles, ReportBadBasesWhereTheyAreNamed) {
  const std::string base = write("base.json", document(R"("limits": {"wall": 0})"));
  const std::string path = write("policy.json", document(R"("extends": "base.json")"));
  EXPECT_THAT(described(load_policy(path, {})),
              ElementsAre((folder_ / "base.json").string() + ":1:52: /limits/wall: 0 is not a limit; use null for none"));
  const std::string lost = write("lost.json", document(R"("extends": "nosuch.json")"));
  EXPECT_THAT(described(load_policy(lost, {})), ElementsAre(::testing::AllOf(HasSubstr("lost.json:1:44: /extends: open"),
                                                                             HasSubstr("nosuch.json: No such file or directory"))));
  const std::string typo = write("typo.json", document(R"("extends": "defualt")"));
  EXPECT_THAT(described(load_policy(typo, {})),
              ElementsAre(HasSubstr("typo.json:1:44: /extends: no built-in policy \"defualt\"; did you mean \"default\"?")));
}

TEST_F(PolicyFiles, EndCyclesAndLongChains) {
  const std::string a = write("a.json", document(R"("extends": "b.json")"));
  write("b.json", document(R"("extends": "./a.json")"));
  EXPECT_THAT(described(load_policy(a, {})), ElementsAre(HasSubstr("extends this policy in turn")));
  for (int i = 0; i < 12; ++i) write("c" + std::to_string(i) + ".json", document(R"("extends": "c)" + std::to_string(i + 1) + R"(.json")"));
  EXPECT_THAT(described(load_policy((folder_ / "c0.json").string(), {})), ElementsAre(HasSubstr("more than 8 policies deep")));
  write("c5.json", document(R"("extends": "default")"));
  EXPECT_TRUE(load_policy((folder_ / "c0.json").string(), {}));
}

TEST_F(PolicyFiles, MustBeSmallRegularFiles) {
  EXPECT_THAT(described(load_policy((folder_ / "none.json").string(), {})), ElementsAre(HasSubstr("No such file or directory")));
  EXPECT_THAT(described(load_policy(folder_.string(), {})), ElementsAre(HasSubstr("is a folder")));
  const std::string fifo = (folder_ / "fifo.json").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_THAT(described(load_policy(fifo, {})), ElementsAre(HasSubstr("is not a regular file")));  // and doesn't block
  const std::string big = write("big.json", document("\"name\": \"" + std::string(1U << 20, 'x') + '"'));
  EXPECT_EQ(described(load_policy(big, {})).size(), 1U);
  EXPECT_THAT(described(load_policy("nosuch", {})), ElementsAre(HasSubstr("no built-in policy \"nosuch\"")));
  EXPECT_THAT(described(load_policy("", {})), ElementsAre(HasSubstr("no built-in policy \"\"")));
}

}  // namespace
}  // namespace podjail

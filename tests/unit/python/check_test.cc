#include "python/check.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "embedded_python.h"

using namespace podjail;
using python::Checked;
using python::Ref;

// CPython keeps some memory for good.
// The sanitizer's library looks it up among the exported symbols.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options();  // NOLINT(bugprone-reserved-identifier)
extern "C" const char* __asan_default_options() {
  return "detect_leaks=0";
}

namespace {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

wire::Job test_job() {
  wire::Job job;
  job.mode = wire::Job::Mode::check;
  job.name = "script.py";
  job.max_script = 4U << 20;
  job.deny_imports = {"socket", "ctypes", "subprocess", "concurrent.futures"};
  job.deny_builtins = {"eval", "exec", "compile", "open"};
  return job;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

std::string show(const wire::Verdict& verdict) {
  std::string text = verdict.verdict + " " + verdict.reason + ": " + verdict.message + "\n";
  for (const wire::Finding& f : verdict.findings) {
    text += "  " + f.rule + " at " + std::to_string(f.line) + ":" + std::to_string(f.column) + " to " + std::to_string(f.end_line) + ":" +
            std::to_string(f.end_column) + " " + f.severity + ": " + f.message + "\n";
  }
  return text;
}

class CheckTest : public EmbeddedPython {
 protected:
  static Checked check(const std::string& source, const wire::Job& job = test_job()) {
    const Ref name = python::decode_path("/nonexistent/script.py");
    Checked checked = python::check_script(job, source, name.ptr());
    EXPECT_EQ(PyErr_Occurred(), nullptr);
    EXPECT_EQ(static_cast<bool>(checked.code), checked.verdict.verdict == "accepted");
    return checked;
  }
  static std::string reason(const std::string& source, const wire::Job& job = test_job()) { return check(source, job).verdict.reason; }
};

std::vector<fs::path> files_of(const char* folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(PODJAIL_CORPUS) / folder)) {
    if (entry.path().extension() == ".py") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST_F(CheckTest, AcceptsHonestScripts) {
  for (const fs::path& file : files_of("accept")) {
    const Checked checked = check(read_file(file));
    EXPECT_EQ(checked.verdict.verdict, "accepted") << file << "\n" << show(checked.verdict);
    EXPECT_TRUE(checked.verdict.findings.empty()) << file << "\n" << show(checked.verdict);
  }
}

// The first line of each file: `# expect PJ101 at LINE:COLUMN`, maybe `with allow_imports=a,b`. Column 0: any; line 0: none.
TEST_F(CheckTest, RejectsWithRuleAndPosition) {
  const auto files = files_of("reject");
  EXPECT_GT(files.size(), 50U);
  for (const fs::path& file : files) {
    const std::string source = read_file(file);
    const auto words = split(source.substr(0, source.find('\n')), ' ');
    ASSERT_GE(words.size(), 5U) << file;
    wire::Job job = test_job();
    if (words.size() == 7) {
      ASSERT_TRUE(words[6].starts_with("allow_imports=")) << file;
      job.allow_imports = split(words[6].substr(14), ',');
    }
    const auto place = split(words[4], ':');
    const Checked checked = check(source, job);
    EXPECT_EQ(checked.verdict.verdict, "rejected") << file << "\n" << show(checked.verdict);
    ASSERT_EQ(checked.verdict.findings.size(), 1U) << file << "\n" << show(checked.verdict);
    const wire::Finding& finding = checked.verdict.findings[0];
    EXPECT_EQ(finding.rule, words[2]) << file << "\n" << show(checked.verdict);
    EXPECT_EQ(finding.line, std::stoi(place[0])) << file << "\n" << show(checked.verdict);
    if (place[1] != "0") {
      EXPECT_EQ(finding.column, std::stoi(place[1])) << file << "\n" << show(checked.verdict);
    }
    EXPECT_FALSE(finding.hint.empty()) << file;
    EXPECT_TRUE(finding.end_line > finding.line || (finding.end_line == finding.line && finding.end_column >= finding.column))
        << file << show(checked.verdict);
  }
}

TEST_F(CheckTest, SortsAndSummarisesFindings) {
  const wire::Verdict verdict = check("x = eval\nimport socket, ctypes\n").verdict;
  ASSERT_EQ(verdict.findings.size(), 3U) << show(verdict);
  EXPECT_EQ(verdict.findings[0].rule, "PJ201");
  EXPECT_EQ(verdict.findings[2].message, "import of ctypes is forbidden");
  EXPECT_EQ(verdict.findings[2].end_column, 22);
  EXPECT_EQ(verdict.reason, "forbidden");
  EXPECT_EQ(verdict.message, "line 1: use of the built-in eval is forbidden (PJ201), and 2 more");
}

TEST_F(CheckTest, BoundsTheNumberOfFindings) {
  std::string source;
  for (int i = 0; i < 5000; ++i) source += "import socket\n";
  const wire::Verdict verdict = check(source).verdict;
  EXPECT_EQ(verdict.findings.size(), 100U);
  EXPECT_EQ(verdict.message, "line 1: import of socket is forbidden (PJ101), and 4999 more");
}

TEST_F(CheckTest, PolicySetsSeverities) {
  wire::Job job = test_job();
  job.rules = {{"PJ101", "warn"}, {"PJ201", "off"}, {"PJ001", "off"}};
  const wire::Verdict verdict = check("import socket\neval('1')\n", job).verdict;
  EXPECT_EQ(verdict.verdict, "accepted") << show(verdict);
  ASSERT_EQ(verdict.findings.size(), 1U);
  EXPECT_EQ(verdict.findings[0].severity, "warn");
  EXPECT_EQ(reason("x = = 1\n", job), "syntax_error");
}

TEST_F(CheckTest, SuppressionsCountOnlyWherePermitted) {
  const std::string source = "import socket  # podjail: ignore[PJ201, PJ101]\n";
  EXPECT_EQ(reason(source), "forbidden");
  wire::Job job = test_job();
  job.suppressions = true;
  EXPECT_EQ(reason(source, job), "");
  EXPECT_EQ(reason("import socket  # podjail: ignore[PJ1010]\n", job), "forbidden");
  EXPECT_EQ(reason("# podjail: ignore[PJ101]\nimport socket\n", job), "forbidden");
}

TEST_F(CheckTest, WithoutRulesOnlyTheCompilerDecides) {
  wire::Job job = test_job();
  job.validate = false;
  EXPECT_EQ(reason("import socket; eval('1')  # \u202e\n", job), "");
  EXPECT_EQ(reason("x = = 1\n", job), "syntax_error");
  EXPECT_EQ(reason(std::string("x = 1\0\n", 7), job), "nul_byte");
}

TEST_F(CheckTest, LocalModulesAreNoMatterOfTheAllowList) {
  wire::Job job = test_job();
  job.allow_imports = {"math"};
  job.local_modules = {"helper"};
  EXPECT_EQ(reason("import math, helper.part\nfrom . import other\nfrom __future__ import annotations\n", job), "syntax_error");
  EXPECT_EQ(reason("import math, helper.part\nfrom . import other\n", job), "");
  EXPECT_EQ(reason("import json\n", job), "forbidden");
}

TEST_F(CheckTest, FindsTheFunctionToCall) {
  wire::Job job = test_job();
  job.function = "handler";
  for (const char* source :
       {"def handler(p): pass", "async def handler(p): pass", "class handler: pass", "handler = print", "from m import handler",
        "from m import f as handler", "from m import *", "import handler.x", "if 1:\n def handler(p): pass",
        "try:\n x\nexcept E:\n def handler(p): pass", "def f():\n global handler\n handler = 1", "(handler := 1)",
        "[handler := a for a in []]", "for handler in x: pass", "with x as (a, handler): pass", "globals()['handler'] = 1",
        "exec('def handler(p): pass')"}) {
    wire::Job lenient = job;
    lenient.deny_builtins = {};
    EXPECT_EQ(reason(std::string(source) + "\n", lenient), "") << source;
  }
  const wire::Verdict verdict = check("def handle_it(payload):\n    return 1\n", job).verdict;
  EXPECT_EQ(verdict.reason, "function_not_found");
  EXPECT_EQ(verdict.message, "no function handler; did you mean handle_it? (PJ004)");
  EXPECT_EQ(check("def main(): pass\ndef load(): pass\n", job).verdict.message,
            "no function handler; the script defines load, main (PJ004)");
  EXPECT_EQ(check("def handlr(): pass\n", job).verdict.message, "no function handler; did you mean handlr? (PJ004)");
  EXPECT_EQ(reason("class A:\n def handler(self): pass\n", job), "function_not_found");
  EXPECT_EQ(reason("def f(): handler = 1\n", job), "function_not_found");
  EXPECT_EQ(reason("import socket\n", job), "forbidden");
}

TEST_F(CheckTest, InputThatIsNoPythonText) {
  EXPECT_EQ(check(std::string("x = 1\ny = '\0'\n", 13)).verdict.verdict, "invalid_input");
  wire::Job job = test_job();
  job.max_script = 3;
  EXPECT_EQ(check("x = 1\n", job).verdict.verdict, "invalid_input");
}

TEST_F(CheckTest, WarningsAreCountedAndNotShown) {
  testing::internal::CaptureStderr();
  EXPECT_TRUE(check("x = 1\nprint(x is 1)\n").warned);
  EXPECT_FALSE(check("x = 1\nprint(x == 1)\n").warned);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const Ref filters = python::steal(PyObject_GetAttrString(PyDict_GetItemString(PyImport_GetModuleDict(), "_warnings"), "filters"));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(filters.ptr()); ++i) {
    PyObject* const message = PyTuple_GET_ITEM(PyList_GET_ITEM(filters.ptr(), i), 1);
    EXPECT_TRUE(message == Py_None || PyUnicode_Check(message)) << "our entry is still there";
  }
}

TEST_F(CheckTest, ByteOrderMarkAndLineEnds) {
  const wire::Verdict verdict = check("\xEF\xBB\xBF# -*- coding: utf-8 -*-\r\nx = 'é'; import socket\r").verdict;
  ASSERT_EQ(verdict.findings.size(), 1U) << show(verdict);
  EXPECT_EQ(verdict.findings[0].line, 2);
  EXPECT_EQ(verdict.findings[0].column, 17);
}

// None of these may take long, need much memory, or overflow the stack (ctest's time limit, and the address sanitizer, would tell).
TEST_F(CheckTest, HostileSizesEndQuickly) {
  const auto repeat = [](std::string_view part, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += part;
    return text;
  };
  for (const std::string& source : {repeat("x;", 1'000'000),
                                    "x = " + repeat("(", 100'000),
                                    "x = " + repeat("[", 199) + repeat("]", 199),
                                    "x = " + repeat("-", 100'000) + "1",
                                    "x = " + repeat("1+", 50'000) + "1",
                                    "x = a" + repeat(".a", 50'000),
                                    "x = " + repeat("lambda:", 5'000) + "1",
                                    "x = " + repeat("not ", 100'000) + "1",
                                    repeat("def f():0\n", 50'000),
                                    "f(" + repeat("a=1,", 50'000) + ")",
                                    "f\"" + repeat("{x}", 100'000) + "\"",
                                    repeat("if x:\n", 300),
                                    "x" + repeat("[0]", 50'000),
                                    "x = " + repeat("a if b else ", 50'000) + "c",
                                    "x = " + repeat("f(", 199) + repeat(")", 199),
                                    repeat("@a\n", 100'000) + "def f(): pass",
                                    "x = " + repeat("{1:", 199),
                                    "x = '" + repeat("a", 3'000'000),
                                    "x = 0x" + repeat("f", 3'000'000),
                                    "x = 1e" + repeat("9", 1'000'000),
                                    "x = " + repeat("9", 1'000'000),
                                    repeat("#\n", 1'000'000),
                                    repeat("import socket;", 100'000),
                                    "x = " + repeat("await ", 100'000) + "1",
                                    repeat("x is 1\n", 20'000),
                                    repeat("(", 198) + "1" + repeat(")", 197) + "$"}) {
    const Checked checked = check(source + "\n");
    EXPECT_TRUE(checked.verdict.verdict == "accepted" || !checked.verdict.message.empty()) << source.substr(0, 40);
  }
}

}  // namespace

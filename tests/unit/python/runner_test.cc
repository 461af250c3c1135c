// The real podjail-python, with a test in the supervisor's place. Where python3 has a say, both run and are compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <filesystem>
#include <regex>

#include "runner_process.h"

using testing::HasSubstr;

namespace {

namespace fs = std::filesystem;

class RunnerTest : public testing::Test {
 protected:
  RunnerTest() {
    std::string pattern = (fs::temp_directory_path() / "podjail-runner-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~RunnerTest() override { fs::remove_all(folder_); }

  RunnerInput input(std::string source) const {
    RunnerInput in;
    in.source = std::move(source);
    in.folder = folder_.string();
    in.environment = {{"PATH", "/usr/bin:/bin"}, {"LANG", "C.UTF-8"}, {"HOME", folder_.string()}, {"PYTHONDONTWRITEBYTECODE", "1"}};
    in.job.validate = true;
    return in;
  }
  RunnerEnd run(std::string source) const { return run_runner(input(std::move(source))); }

  RunnerEnd call(std::string source, std::string function = "handler", std::optional<std::string> payload = "{}") const {
    RunnerInput in = input(std::move(source));
    in.job.function = std::move(function);
    in.payload = std::move(payload);
    return run_runner(in);
  }

  fs::path folder_;
};

// "function f at 0x7f…", and the reference that the runner holds.
std::string without_addresses(const std::string& text) {
  static const std::regex address("0x[0-9a-f]+|refcount : [0-9]+");
  return std::regex_replace(text, address, "0x");
}

// All in which a script could see that it isn't under python3.
constexpr const char* kDump = R"(
import sys
modules = sorted(sys.modules)
import os, signal, locale, faulthandler, gc, threading, _warnings, atexit, inspect
for name in ('flags path argv orig_argv executable _base_executable prefix exec_prefix base_prefix base_exec_prefix platlibdir pycache_prefix '
             'dont_write_bytecode version hexversion warnoptions _xoptions builtin_module_names float_info hash_info thread_info int_info '
             'implementation').split():
    print(name, getattr(sys, name, None))
print(modules, sorted(sys.stdlib_module_names))
print(list(sys.path_importer_cache)[:7])
for stream in sys.stdin, sys.stdout, sys.stderr:
    print(stream.encoding, stream.errors, stream.line_buffering, stream.write_through, stream.newlines, stream.name, stream.mode, type(stream.buffer))
print(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors(), sys.getdefaultencoding())
print([signal.getsignal(i) for i in range(1, 65) if i not in (32, 33)], signal.pthread_sigmask(signal.SIG_BLOCK, []))
print([line for line in open('/proc/self/status') if line.startswith(('Sig', 'Shd')) and not line.startswith('SigQ')])
print(_warnings.filters, dict(os.environ), [locale.setlocale(i) for i in range(6)])
print(faulthandler.is_enabled(), gc.get_threshold(), gc.isenabled(), sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits())
print(sorted(vars()), sorted(vars(__builtins__)), sys.excepthook, sys.displayhook, sys.unraisablehook, sys.breakpointhook)
print(threading.active_count(), atexit._ncallbacks(), sys.getdlopenflags(), len(inspect.stack()), os.umask(0o22))
print(type(__loader__), __loader__.path, __loader__.name, __file__, __cached__, __spec__, __package__, __doc__, __name__)
print(sorted(c.__module__ + '.' + c.__qualname__ for c in object.__subclasses__()))
print(os.open('/dev/null', 0), sys.modules['__main__'].__dict__ is globals())
)";

TEST_F(RunnerTest, ScriptFindsTheInterpreterThatPython3GivesIt) {
  const std::vector<std::map<std::string, std::string>> environments = {
      {},
      {{"LC_ALL", "C"}},
      {{"LC_ALL", "POSIX"}, {"PYTHONCOERCECLOCALE", "0"}},
      {{"PYTHONUTF8", "1"}},
      {{"PYTHONSAFEPATH", "1"}},
      {{"PYTHONDEVMODE", "1"}, {"PYTHONWARNINGS", "default"}},
      {{"PYTHONIOENCODING", "latin-1"}, {"PYTHONOPTIMIZE", "1"}, {"PYTHONNOUSERSITE", "1"}, {"PYTHONUNBUFFERED", "1"}}};
  for (const auto& variables : environments) {
    RunnerInput in = input(kDump);
    in.arguments = {"a b", "--x", "-c"};
    in.environment["PYTHONHASHSEED"] = "7";  // the order of sets
    for (const auto& [name, value] : variables) in.environment[name] = value;
    const RunnerEnd ours = run_runner(in), theirs = run_python3(in);
    EXPECT_EQ(ours.verdict.verdict, "accepted") << ours.confined_error;
    EXPECT_EQ(ours.out, theirs.out);
    EXPECT_EQ(ours.err, theirs.err);
    EXPECT_EQ(ours.status, theirs.status);
  }
}

TEST_F(RunnerTest, EndsAsPython3Ends) {
  for (const char* source :
       {"print('a', end='')",
        "",
        "import sys; sys.exit()",
        "import sys; sys.exit(3)",
        "import sys; sys.exit(256)",
        "import sys; sys.exit(-1)",
        "import sys; sys.exit(True)",
        "import sys; sys.exit('text')",
        "import sys; sys.exit((1, 2))",
        "import sys; sys.exit(10 ** 30)",
        "raise SystemExit",
        "exit(4)",
        "import os; os._exit(5)",
        "1 / 0",
        "raise KeyboardInterrupt",
        "def f(): f()\nf()",
        "raise ExceptionGroup('g', [ValueError('a'), TypeError('b')])",
        "try:\n {}['x']\nexcept KeyError as e:\n raise ValueError('v') from e",
        "raise ValueError('half \\ud83d \\udcff')",
        "import os\nprint('lost')\nos.close(1)",
        "import atexit\natexit.register(print, 'bye')\nprint(__file__[-9:])\n1 / 0",
        "import atexit\natexit.register(lambda: print(__file__))",
        "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.05), print('late'))).start()\nprint('main')",
        "import sys\nsys.excepthook = lambda *a: print('hook', a[0], file=sys.stderr)\n1 / 0",
        "import sys\nsys.excepthook = None\n1 / 0",
        "import sys\nsys.stderr = None\n1 / 0",
        "import sys\ndel sys.stderr\n1 / 0",
        "import sys\ndef hook(*a): raise RuntimeError('no')\nsys.excepthook = hook\n1 / 0",
        "class E(Exception):\n def __str__(self):\n  print('str')\n  return 'e'\nraise E",
        "class E(Exception):\n def __str__(self): 1 / 0\nraise E",
        "class M(type):\n @property\n def __name__(c): 1 / 0\nclass E(Exception, metaclass=M): pass\nraise E",
        "import signal, os\nos.kill(os.getpid(), signal.SIGTERM)",
        "x = 1\nprint(x is 1)\nassert (x, 'always')",
        "class D:\n def __del__(self): raise RuntimeError('d')\nD()",
        "import sys\nclass W:\n def write(self, t): sys.__stderr__.write('<' + t + '>')\n def flush(self): pass\nsys.stderr = W()\n1 / 0",
        "import sys\nclass S(SystemExit):\n @property\n def code(self):\n  print('asked')\n  return 7\nraise S",
        "import faulthandler, sys\nsys.setrecursionlimit(50)\ndef f(n): return f(n + 1)\ntry: f(0)\nexcept RecursionError: print('deep')",
        "depth = 0\ndef down():\n global depth\n depth += 1\n down()\ntry: down()\nexcept RecursionError: print(depth)",
        "e = ValueError('noted'); e.add_note('a note'); raise e",
        "import sys\nclass W:\n def write(self, t): sys.__stdout__.write(t)\n def flush(self): sys.__stdout__.write('f')\nsys.stdout = "
        "W()\nprint(1)",
        "import atexit, concurrent.futures as c\natexit.register(print, 'atexit')\ne = c.ThreadPoolExecutor(1)\ne.submit(print, 'job')",
        "import threading, atexit, time\natexit.register(print, 'a')\nthreading.Thread(target=lambda: (time.sleep(.05), "
        "print('t'))).start()",
        "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), daemon=True).start()\nprint('main')",
        "class D:\n def __init__(self, n): self.n = n\n def __del__(self): print('del', self.n)\nimport sys, builtins\na = D(1)\nsys.a = "
        "D(2)\nb = D(3)\nb.self = b\nbuiltins.d = D(4)",
        "class D:\n def __del__(self): print('del')\nimport contextvars\nv = contextvars.ContextVar('v')\nv.set(D())",
        "class D:\n def __del__(self): print('del')\nimport threading\nlocal = threading.local()\nlocal.x = D()",
        "import atexit, os, sys\natexit.register(os.close, 1)\nprint('lost')",
        "import sys\nsys.stdout.close()",
        "import sys\nsys.stdout.detach()",
        "import atexit\natexit.register(lambda: 1 / 0)\natexit.register(print, 'x')",
        "class D:\n def __del__(self): 1 / 0\nkept = D()",
        "import atexit, sys\natexit.register(sys.exit, 3)",
        "open('left.txt', 'w').write('text')\nprint(open('left.txt').read())",
        "import sys, signal\nsignal.raise_signal(signal.SIGINT)",
        "raise SyntaxError('made', ('f', 1, 2, 'text'))"}) {
    const RunnerInput in = input(std::string(source) + "\n");
    const RunnerEnd ours = run_runner(in), theirs = run_python3(in);
    EXPECT_EQ(ours.verdict.verdict, "accepted") << source << ours.verdict.message << ours.confined_error;
    EXPECT_EQ(ours.status, theirs.status) << source;
    EXPECT_EQ(ours.out, theirs.out) << source;
    EXPECT_EQ(without_addresses(ours.err), without_addresses(theirs.err)) << source;
  }
}

TEST_F(RunnerTest, ReportsAnException) {
  const RunnerEnd end = run("def f():\n    raise ValueError('bad row')\n\n\nf()\n");
  ASSERT_TRUE(end.ended && end.ended->exception);
  EXPECT_EQ(end.ended->exception->type, "ValueError");
  EXPECT_EQ(end.ended->exception->message, "bad row");
  EXPECT_EQ(end.ended->exception->line, 2);
  EXPECT_EQ(end.ended->exception->traceback, end.err);
  EXPECT_FALSE(end.ended->memory_error);
}

TEST_F(RunnerTest, ReportsHostileExceptions) {
  const auto report = [&](const char* source) {
    RunnerEnd end = run(source);
    EXPECT_TRUE(end.ended && end.ended->exception) << source;
    return end.ended && end.ended->exception ? *end.ended->exception : podjail::wire::ExceptionClaim{};
  };
  EXPECT_EQ(report("raise ValueError('half emoji \\ud83d and escaped byte \\udcff end')\n").message,
            "half emoji \\ud83d and escaped byte \\udcff end");
  EXPECT_EQ(report("raise ValueError('x' * 50_000_000)\n").message.size(), 8U << 10);
  EXPECT_LE(report("raise ValueError('x' * 50_000_000)\n").traceback.size(), 64U << 10);
  EXPECT_EQ(report("class E(Exception):\n def __str__(self): return 'own text\\nof two lines'\nraise E\n").message,
            "own text\nof two lines");
  EXPECT_EQ(report("class E(Exception):\n def __str__(self): raise SystemExit\nraise E\n").type, "E");
  EXPECT_EQ(report("import sys\nsys.excepthook = lambda *a: None\ndef f(): 1 / 0\nf()\n").line, 3);
  EXPECT_THAT(report("import sys\nsys.excepthook = lambda *a: None\ndef f(): 1 / 0\nf()\n").traceback, HasSubstr("in f\n"));
  EXPECT_EQ(report("try:\n 1 / 0\nexcept Exception as e:\n raise ExceptionGroup('g', [e]) from e\n").type, "ExceptionGroup");
  EXPECT_EQ(report("import json\njson.loads('{')\n").type, "JSONDecodeError");
}

TEST_F(RunnerTest, ReportsMemoryErrors) {
  const RunnerEnd end =
      run("import resource\nresource.setrlimit(resource.RLIMIT_DATA, (60 << 20, 60 << 20))\nkept = []\nwhile True: kept.append(' ' * "
          "100_000)\n");
  ASSERT_TRUE(end.ended && end.ended->exception) << end.err;
  EXPECT_TRUE(end.ended->memory_error);
  EXPECT_EQ(end.ended->exception->type, "MemoryError");
  EXPECT_EQ(end.ended->exception->line, 4);
  EXPECT_THAT(end.err, HasSubstr("MemoryError"));
}

TEST_F(RunnerTest, ReportsWhatExitWasAsked) {
  EXPECT_EQ(run("import sys; sys.exit(256)\n").ended->exit_argument, "256");
  EXPECT_EQ(run("import sys; sys.exit('text')\n").ended->exit_argument, "\"text\"");
  EXPECT_EQ(run("import sys; sys.exit()\n").ended->exit_argument, "null");
  EXPECT_EQ(run("print(1)\n").ended->exit_argument, std::nullopt);
}

TEST_F(RunnerTest, SurvivesAClosedReplacedOrFullReportPipe) {
  EXPECT_EQ(run("import os\nos.closerange(3, 1000)\n").status, 0);
  const RunnerEnd replaced =
      run("import os\nfor fd in range(3, 1000):\n try: os.close(fd)\n except OSError: pass\nfds = [os.open('own.txt', os.O_CREAT | "
          "os.O_RDWR) for _ in range(300)]\n");
  EXPECT_EQ(replaced.status, 0);
  EXPECT_EQ(fs::file_size(folder_ / "own.txt"), 0U);  // the report didn't land in the script's file
}

TEST_F(RunnerTest, NeighboursDoNotShadowWhatTheRunnerImports) {
  for (const char* name :
       {"json.py", "site.py", "sitecustomize.py", "encodings.py", "os.py", "asyncio.py", "warnings.py", "usercustomize.py"}) {
    FILE* const file = std::fopen((folder_ / name).c_str(), "w");
    std::fputs("print('neighbour', __name__)\n", file);
    std::fclose(file);
  }
  FILE* const file = std::fopen((folder_ / "pyvenv.cfg").c_str(), "w");
  std::fputs("home = /nonexistent\n", file);
  std::fclose(file);
  EXPECT_EQ(run("print('script')\n").out, "script\n");
  const RunnerEnd end = call("def handler(p): return p['n']\n", "handler", "{\"n\": 5}");
  EXPECT_EQ(end.out, "");
  EXPECT_EQ(end.ended->return_value, "5");
  EXPECT_EQ(run("import site, json\n").out, "neighbour json\n");  // as python3 has it: site is loaded already
}

TEST_F(RunnerTest, CallsAFunction) {
  EXPECT_EQ(call("def handler(p): return {'double': p['n'] * 2}\n", "handler", "{\"n\": 21}").ended->return_value, "{\"double\":42}");
  EXPECT_EQ(call("import asyncio\nasync def handler(p):\n    await asyncio.sleep(0.001)\n    return p\n", "handler",
                 "[1, 1.0, 123456789012345678901234567890]")
                .ended->return_value,
            "[1,1.0,123456789012345678901234567890]");
  EXPECT_EQ(call("def handler(p): return p\n", "handler", std::nullopt).ended->return_value, "{}");
  EXPECT_EQ(call("def handler(p): return [__name__, __file__[-9:], __spec__.name]\n").ended->return_value,
            "[\"script\",\"script.py\",\"script\"]");
  EXPECT_EQ(
      call("import pickle\nclass A: pass\ndef handler(p): return type(pickle.loads(pickle.dumps(A()))).__name__\n").ended->return_value,
      "\"A\"");
}

TEST_F(RunnerTest, SaysWhyThereIsNoReturnValue) {
  const auto reason = [&](const char* source, const char* function = "handler", const char* payload = "{}") {
    const RunnerEnd end = call(source, function, payload);
    EXPECT_TRUE(end.ended) << source;
    return end.ended ? end.ended->return_reason : "";
  };
  EXPECT_EQ(reason("def handler(): pass\n"), "wrong_arity");
  EXPECT_EQ(reason("def handler(a, b): pass\n"), "wrong_arity");
  EXPECT_EQ(reason("def handler(p): return len(1, 2)\n"), "");
  EXPECT_EQ(reason("def handler(p): yield\n"), "return_value_not_json");
  EXPECT_EQ(reason("async def handler(p): yield\n"), "return_value_not_json");
  EXPECT_EQ(reason("def handler(p): return 'x' * 20_000_000\n"), "return_value_too_large");
  EXPECT_EQ(reason("handler = 5\n"), "not_callable");
  EXPECT_EQ(reason("exec('')\n"), "function_not_found");
  for (const char* payload : {"{'a'", "", "[NaN]", "{} x"}) {  // and it never starts
    const RunnerEnd end = call("print('ran')\ndef handler(p): pass\n", "handler", payload);
    EXPECT_EQ(end.verdict.reason, "payload_not_json") << payload;
    EXPECT_EQ(end.out, "");
  }
  EXPECT_EQ(call("def handle_it(p): pass\n").verdict.reason, "function_not_found");
  EXPECT_EQ(call("import os\ndef handler(p): os._exit(0)\n").ended, std::nullopt);
}

TEST_F(RunnerTest, NothingOfARejectedScriptRuns) {
  RunnerInput in = input("print('ran')\nimport socket\n");
  in.job.deny_imports = {"socket"};
  const RunnerEnd end = run_runner(in);
  EXPECT_EQ(end.verdict.verdict, "rejected");
  EXPECT_EQ(end.out + end.err, "");
  EXPECT_EQ(end.ended, std::nullopt);
}

TEST_F(RunnerTest, RefusesAnotherPythonsLibrary) {
  RunnerInput in = input("print(1)\n");
  in.python = "/nonexistent/python3";  // no version to be found: nothing is said
  EXPECT_EQ(run_runner(in).hello_error, "");
}

}  // namespace

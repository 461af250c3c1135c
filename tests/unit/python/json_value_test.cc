#include "python/json_value.h"

#include "embedded_python.h"

using podjail::python::borrow;
using podjail::python::JsonValue;
using podjail::python::Ref;
using podjail::python::steal;

namespace {

class JsonValueTest : public EmbeddedPython {
 protected:
  // The value of `result` after running `code`.
  static JsonValue encode(const char* code, std::uint64_t limit = 1U << 20) {
    const Ref globals = steal(PyDict_New());
    const Ref ran = steal(PyRun_String(code, Py_file_input, globals.ptr(), globals.ptr()));
    if (!ran) PyErr_Print();
    PyObject* const value = PyDict_GetItemString(globals.ptr(), "result");
    if (value == nullptr) return {};
    JsonValue json = podjail::python::to_json(value, limit);
    EXPECT_EQ(PyErr_Occurred(), nullptr);
    return json;
  }
};

TEST_F(JsonValueTest, WritesWhatJsonHolds) {
  const JsonValue json = encode("result = {'a': [1, -0.0, 1e300, True, None, 'x\"\\n\\x00\\x7fé\U0001F600'], '': ()}");
  EXPECT_EQ(json.text, "{\"a\":[1,-0.0,1e+300,true,null,\"x\\\"\\n\\u0000\x7fé\U0001F600\"],\"\":[]}");
  EXPECT_EQ(json.bytes, json.text->size());
  EXPECT_TRUE(json.notes.empty());
}

TEST_F(JsonValueTest, KeepsBigIntegersInFull) {
  EXPECT_EQ(encode("result = 10 ** 307").text, "1" + std::string(307, '0'));
  EXPECT_EQ(encode("result = -(2 ** 200)").text, "-1606938044258990275541962092341162602522202993782792835301376");
  for (const char* beyond : {"result = [10 ** 309]", "result = [2 ** 10_000_000]"}) {
    EXPECT_EQ(encode(beyond).text, std::nullopt);
    EXPECT_NE(encode(beyond).problem.find("$[0]"), std::string::npos);
  }
}

TEST_F(JsonValueTest, RunsNoCodeOfSubclasses) {
  const JsonValue json = encode(R"(
def fail(*a): raise SystemExit
class D(dict): items = __iter__ = __len__ = keys = __getitem__ = fail
class L(list): __iter__ = __len__ = __getitem__ = fail
class S(str): __str__ = __repr__ = encode = fail
class I(int): __str__ = __repr__ = __index__ = __int__ = fail
class F(float): __str__ = __repr__ = __float__ = fail
result = L([D(a=S('b')), I(5), F(1.5), I(10 ** 20)])
)");
  EXPECT_EQ(json.text, R"([{"a":"b"},5,1.5,100000000000000000000])");
}

TEST_F(JsonValueTest, NamesThePlaceOfWhatJsonLacks) {
  EXPECT_EQ(encode("import datetime\nresult = {'items': [1, 2, 3, {'when': datetime.datetime(2024, 1, 1)}]}").problem,
            "$.items[3].when: datetime is not JSON");
  EXPECT_EQ(encode("result = [{'a b': {1}}]").problem, "$[0][\"a b\"]: set is not JSON");
  EXPECT_EQ(encode("result = object()").problem, "$: object is not JSON");
  EXPECT_EQ(encode("result = (x for x in 'a')").problem, "$: generator is not JSON");
  EXPECT_EQ(encode("result = [1.0, float('nan')]").problem, "$[1]: a float that is not finite is not JSON");
  EXPECT_EQ(encode("result = [float('-inf')]").problem, "$[0]: a float that is not finite is not JSON");
  EXPECT_EQ(encode("result = {'a': {(1, 2): 3}}").problem, "$.a: a key of type tuple is not JSON");
  EXPECT_EQ(encode("result = {float('nan'): 3}").problem, "$: a key that is a float and not finite is not JSON");
  EXPECT_EQ(encode("class M(type):\n @property\n def __name__(c): raise 1\nclass A(metaclass=M): pass\nresult = A()").problem,
            "$: A is not JSON");
}

TEST_F(JsonValueTest, RefusesCyclesAndDepth) {
  EXPECT_EQ(encode("result = []; result.append(result)").problem, "$[0]: a circular reference");
  EXPECT_EQ(encode("result = {}; result['self'] = [result]").problem, "$.self[0]: a circular reference");
  EXPECT_EQ(encode("result = []\nfor _ in range(199): result = [result]").problem, "");
  EXPECT_NE(encode("result = []\nfor _ in range(200): result = [result]").problem.find("more than 200 levels"), std::string::npos);
  EXPECT_NE(encode("result = []\nfor _ in range(100_000): result = [result]").problem.find("more than 200 levels"), std::string::npos);
  EXPECT_EQ(encode("a = [1]; result = [a, a]").text, "[[1],[1]]");
}

TEST_F(JsonValueTest, ConvertsKeysButNeverLosesOne) {
  EXPECT_EQ(encode("result = {1: 1, 2.5: 2, None: 3, True + 1: 4, False: 5}").text, R"({"1":1,"2.5":2,"null":3,"2":4,"false":5})");
  EXPECT_EQ(encode("result = {1: 'int', '1': 'text'}").problem, "$: duplicate key \"1\"");
  EXPECT_EQ(encode("result = {'x': {None: 1, 'null': 2}}").problem, "$.x: duplicate key \"null\"");
  EXPECT_EQ(encode("result = {'a\\ud800': 1, 'a\\ufffd': 2}").problem, "$: duplicate key \"a\uFFFD\"");
  EXPECT_EQ(encode("class S(str):\n __hash__ = lambda s: 7\n __eq__ = lambda s, o: False\nresult = {'a': 1, S('a'): 2}").problem,
            "$: duplicate key \"a\"");
}

TEST_F(JsonValueTest, ReplacesLoneSurrogatesAndSaysWhere) {
  const JsonValue json = encode("result = {'half': 'x\\ud83dy', '~/': ['\\udc00\\ud800']}");
  EXPECT_EQ(json.text, "{\"half\":\"x\uFFFDy\",\"~/\":[\"\uFFFD\uFFFD\"]}");
  EXPECT_EQ(json.notes, (std::vector<std::string>{"/half lone surrogate", "/~0~1/0 lone surrogate"}));
  EXPECT_EQ(encode("result = '\\ud800'").notes, std::vector<std::string>{"lone surrogate"});
}

TEST_F(JsonValueTest, CountsWhatIsTooLarge) {
  const JsonValue json = encode("result = 'x' * 20_000_000");
  EXPECT_EQ(json.text, std::nullopt);
  EXPECT_EQ(json.problem, "");
  EXPECT_EQ(json.bytes, 20'000'002U);
  EXPECT_EQ(encode("result = 'xx'", 4).text, "\"xx\"");
  EXPECT_EQ(encode("result = 'xx'", 3).text, std::nullopt);
  EXPECT_EQ(encode("result = [1] * 1000", 100).bytes, 2001U);
}

}  // namespace

# expect PJ201 at 3:1
import builtins as b
b.eval("1")

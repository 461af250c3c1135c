# expect PJ101 at 3:1
import builtins
builtins.__import__("ctypes")

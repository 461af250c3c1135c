# expect PJ201 at 3:1
import builtins
builtins.__dict__["eval"]("1")

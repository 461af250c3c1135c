# expect PJ201 at 3:1
import builtins
vars(builtins)["eval"]("1")

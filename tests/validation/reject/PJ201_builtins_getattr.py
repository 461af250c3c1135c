# expect PJ201 at 3:1
import builtins
getattr(builtins, "eval")("1")

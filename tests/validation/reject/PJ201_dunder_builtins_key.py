# expect PJ201 at 2:1
__builtins__["ev" + "al"]("1")

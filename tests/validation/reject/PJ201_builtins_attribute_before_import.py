# expect PJ201 at 3:5
def f():
    builtins.eval("1")


import builtins

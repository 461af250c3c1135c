# expect PJ201 at 5:9
class A:
    if 0:
        eval = None
    x = eval("1")

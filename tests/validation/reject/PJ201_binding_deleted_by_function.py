# expect PJ201 at 7:1
eval = None
def f():
    global eval
    del eval
f()
eval("1")

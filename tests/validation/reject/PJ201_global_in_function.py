# expect PJ201 at 5:5
def f():
    global eval
    if 0: eval = None
    eval("1")

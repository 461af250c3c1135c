# expect PJ201 at 2:14
def f(a, run=exec):
    pass

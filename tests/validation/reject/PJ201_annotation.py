# expect PJ201 at 2:10
def f(a: eval):
    pass

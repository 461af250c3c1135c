# expect PJ001 at 2:10
def f(a, a):
    pass

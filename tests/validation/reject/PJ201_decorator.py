# expect PJ201 at 2:2
@eval
def f():
    pass

# expect PJ201 at 4:12
@lambda f: f()
def eval():
    return eval("1")

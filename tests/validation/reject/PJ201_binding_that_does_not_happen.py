# expect PJ201 at 4:1
if 0:
    eval = None
eval("1")

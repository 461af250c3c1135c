# expect PJ201 at 2:1
eval("1")
eval = None

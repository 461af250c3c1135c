# expect PJ201 at 4:1
eval = None
del eval
eval("1")

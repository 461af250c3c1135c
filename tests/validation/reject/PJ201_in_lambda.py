# expect PJ201 at 2:15
run = lambda: eval("1")

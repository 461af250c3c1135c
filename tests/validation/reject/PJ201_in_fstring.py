# expect PJ201 at 2:0
x = f"{eval(1)}"

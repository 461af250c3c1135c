# expect PJ001 at 2:0
x = f"{a b}"

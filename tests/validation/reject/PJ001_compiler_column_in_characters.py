# expect PJ001 at 2:14
x = "größe"; return x

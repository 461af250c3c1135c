# expect PJ201 at 2:5
e = eval

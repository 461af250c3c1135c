# expect PJ201 at 2:8
eval = eval

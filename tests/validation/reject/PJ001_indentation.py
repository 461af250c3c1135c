# expect PJ001 at 3:1
if True:
x = (1)

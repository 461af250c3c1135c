# expect PJ201 at 7:1
eval = None
try:
    1 / 0
except Exception as eval:
    pass
eval("1")

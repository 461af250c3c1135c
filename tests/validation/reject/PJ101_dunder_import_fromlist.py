# expect PJ101 at 2:1
__import__("concurrent", None, None, ["futures"])

# expect PJ201 at 2:27
[(eval := None) if 0 else eval("1") for _ in "a"]

# expect PJ001 at 2:1
nonlocal x

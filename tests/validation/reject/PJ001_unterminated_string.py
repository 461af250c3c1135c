# expect PJ001 at 2:5
x = "abc

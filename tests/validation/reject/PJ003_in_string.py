# expect PJ003 at 2:6
x = "⁧"

# expect PJ201 at 2:16
table = {"e": [exec]}

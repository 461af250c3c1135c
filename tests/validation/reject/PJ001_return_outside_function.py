# expect PJ001 at 3:1
total = 0
return total

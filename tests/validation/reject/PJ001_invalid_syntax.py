# expect PJ001 at 2:24
print("größer als", 1 +* 2)

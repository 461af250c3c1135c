# expect PJ101 at 2:5
s = __import__("socket")

# expect PJ101 at 2:1 with allow_imports=math
__import__("os")

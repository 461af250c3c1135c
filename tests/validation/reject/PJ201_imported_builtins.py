# expect PJ201 at 2:1
__import__("builtins").eval("1")

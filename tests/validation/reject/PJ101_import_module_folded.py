# expect PJ101 at 3:5
from importlib import import_module
s = import_module("soc" + ("k" + f"et"))

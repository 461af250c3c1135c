# expect PJ101 at 3:5
import importlib
s = importlib.import_module("soc" "ket")

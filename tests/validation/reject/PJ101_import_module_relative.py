# expect PJ101 at 3:1
import importlib
importlib.import_module(".futures", "concurrent")

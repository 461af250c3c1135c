# expect PJ201 at 3:1
import sys
sys.modules["builtins"].eval("1")

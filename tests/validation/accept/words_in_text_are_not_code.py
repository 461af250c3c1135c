# accepted
"""import socket; eval("1")"""
# import ctypes
text = "import socket"
pattern = r"eval\(" + f"{text!r:>20} exec(compile)"
print(pattern, {"eval": 1, "socket": 2}["eval"], "{0.upper}".format(text), """
import subprocess
""")

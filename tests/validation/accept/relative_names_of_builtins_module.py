# accepted
import builtins

print(builtins.len("abc"), builtins.__name__, hasattr(builtins, "print"), __builtins__.len("ab") if hasattr(__builtins__, "len") else 2)

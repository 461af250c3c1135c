# expect PJ101 at 3:1 with allow_imports=os.path
from os import path
from os import path, system

# expect PJ101 at 3:8 with allow_imports=math,collections,os.path
import math
import os

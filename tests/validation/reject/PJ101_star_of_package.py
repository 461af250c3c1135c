# expect PJ101 at 2:24
from concurrent import *

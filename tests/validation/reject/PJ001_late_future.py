# expect PJ001 at 3:1
import math
from __future__ import annotations

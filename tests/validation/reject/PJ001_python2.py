# expect PJ001 at 3:1
import math
print "pi is", math.pi

# expect PJ201 at 2:22
from builtins import eval as harmless

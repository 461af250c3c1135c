# expect PJ101 at 3:1
__package__ = "socket"
from . import create_connection

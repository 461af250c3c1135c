# expect PJ101 at 2:12
import os, socket as s

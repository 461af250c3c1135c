# expect PJ101 at 2:1
from socket import socket as s

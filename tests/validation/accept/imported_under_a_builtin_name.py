# accepted
from codecs import open

with open("/dev/null", "r", "utf-8") as stream:
    print(stream.read())

import os

os.makedirs("output", exist_ok=True)
open(b"output/bad\xc3.txt", "wb").write(b"x")
open("output/good.txt", "w").write("y")
print("ok")

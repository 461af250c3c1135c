import os

os.makedirs("output/locked", exist_ok=True)
open("output/locked/inside.txt", "w").write("x")
open("output/secret.txt", "w").write("y")
os.chmod("output/secret.txt", 0)
os.chmod("output/locked", 0)
os.chmod("output", 0o555)
print("locked")

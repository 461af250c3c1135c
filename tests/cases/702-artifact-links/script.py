import os

os.makedirs("output/sub", exist_ok=True)
open("output/real.txt", "w").write("data")
os.symlink("/etc/passwd", "output/passwd.txt")
os.symlink("nowhere", "output/dangling")
os.symlink("..", "output/sub/up")
os.symlink("real.txt", "output/alias.txt")
os.link("output/real.txt", "output/second-name.txt")
print("linked")

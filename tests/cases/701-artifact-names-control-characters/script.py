import os

os.makedirs("output", exist_ok=True)
for name in ("line\nbreak.txt", "esc\x1b[31m.txt", " lead and trail ", "-rf", "ok name é.txt"):
    open("output/" + name, "w").close()
print(len(os.listdir("output")))

import csv
import pathlib

out = pathlib.Path("output/reports/2024 q1")
out.mkdir(parents=True)
with open(out / "sales – été.csv", "w", newline="") as f:
    csv.writer(f).writerows([["sku", "n"], ["A", 1]])
(out / "empty.txt").touch()
pathlib.Path("output/void").mkdir()
print("written")

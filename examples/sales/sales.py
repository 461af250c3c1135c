"""Reads orders.csv from the task's own folder, totals it by region and leaves a report as an artifact."""

import csv
import os
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

source = Path(os.environ["PODJAIL_INPUT_DIR"]) / "orders.csv"
report = Path(os.environ["PODJAIL_OUTPUT_DIR"]) / "by_region.csv"

totals = defaultdict(Decimal)
orders = 0
with source.open(newline="", encoding="utf-8") as file:
    for row in csv.DictReader(file):
        totals[row["region"]] += int(row["quantity"]) * Decimal(row["unit_price"])
        orders += 1

with report.open("w", newline="", encoding="utf-8") as file:
    writer = csv.writer(file)
    writer.writerow(["region", "revenue"])
    writer.writerows(sorted(totals.items()))

print(f"{orders} orders, {sum(totals.values()):,.2f} in all")
for region, revenue in sorted(totals.items(), key=lambda item: -item[1]):
    print(f"  {region:<6} {revenue:>12,.2f}")

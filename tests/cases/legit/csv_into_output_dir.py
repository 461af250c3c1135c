import csv
import json
from pathlib import Path

out = Path("output")
out.mkdir(exist_ok=True)
rows = [{"sku": f"S{i:03d}", "qty": i * 3 % 7, "price": round(1.5 * i, 2)} for i in range(1, 6)]
with open(out / "stock.csv", "w", newline="", encoding="utf-8") as f:
    w = csv.DictWriter(f, fieldnames=list(rows[0]))
    w.writeheader()
    w.writerows(rows)
(out / "summary.json").write_text(json.dumps({"n": len(rows), "qty": sum(r["qty"] for r in rows)}))
print((out / "stock.csv").read_text().splitlines()[-1], (out / "summary.json").read_text())

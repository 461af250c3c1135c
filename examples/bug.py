"""Has a bug: the last record lacks a field."""

records = [{"name": "ada", "score": 91}, {"name": "grace", "score": 88}, {"name": "alan"}]


def average(rows):
    return sum(row["score"] for row in rows) / len(rows)


print("records:", len(records))
print("average:", average(records))

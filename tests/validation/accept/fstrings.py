# accepted
value, width = 3.14159, 10
rows = [f"{value:{width}.2f}|{value!r}|{'nested'}|{value=}" f"{{}}" for _ in range(2)]
text = f"""
<ul>
{''.join(f'<li>{row}</li>' for row in rows)}
</ul>
"""
print(rf"\d{width}", text, rb"\x", Rb"q", F"{value}", u"x", b'y' B"z", '\'' "\"")

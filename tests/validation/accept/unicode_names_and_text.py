# accepted
größe = 3
名前 = "太郎"
print(größe, 名前, "שלום", "\u202e written as an escape", "é̀")

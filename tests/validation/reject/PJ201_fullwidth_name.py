# expect PJ201 at 2:1
ｅｖａｌ("1")

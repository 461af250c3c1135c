# expect PJ201 at 3:10
match 1:
    case eval():
        pass

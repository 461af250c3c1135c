# expect PJ201 at 2:16
class Abcdefgh(eval):
    pass

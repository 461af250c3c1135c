# expect PJ201 at 6:9
class A:
    def eval(self):
        pass
    def f(self):
        eval("1")

# accepted
import re


class Model:
    def eval(self):
        return self

    def compile(self):
        return self

    def open(self, mode):
        return mode

    def exec(self, steps):
        return steps


model = Model()
print(model.eval().compile().open("r"), model.exec(2), re.compile("a").pattern)

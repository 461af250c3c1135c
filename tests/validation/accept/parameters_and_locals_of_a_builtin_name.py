# accepted
def load(open, *, eval=None, **exec):
    return open, eval, exec


def outer():
    compile = 1

    def inner():
        return compile

    return inner()


print(load(1), outer(), [open for open in range(3)], (lambda eval: eval)(2), {exec: exec for exec in "a"})

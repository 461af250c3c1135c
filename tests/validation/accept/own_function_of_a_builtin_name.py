# accepted
def compile(node):
    """Calls itself: the name is the function's own by then."""
    return [compile(child) for child in node]


class Door:
    def open(self):
        return "open"

    unlock = open

    def __repr__(self):
        return "Door"

    __str__ = __repr__


print(compile([[], [[]]]), Door().unlock())

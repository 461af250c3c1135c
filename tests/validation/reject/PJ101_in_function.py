# expect PJ101 at 4:16
class A:
    def f(self):
        import socket

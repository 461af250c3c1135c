# expect PJ101 at 5:20
match 1:
    case 1:
        try:
            import socket
        finally:
            pass

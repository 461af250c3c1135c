# expect PJ003 at 3:25
access = "user"
if access != "none":  # ‮ } admins only
    pass

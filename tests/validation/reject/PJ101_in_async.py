# expect PJ101 at 4:9
async def f():
    async with a:
        from subprocess import run

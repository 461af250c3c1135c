# accepted
# a comment without code
print("a", \
      "b")

if True :
	print("tab")

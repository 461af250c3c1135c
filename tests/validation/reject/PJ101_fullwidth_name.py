# expect PJ101 at 2:8
import ｓｏｃｋｅｔ

# accepted
from __future__ import annotations

import collections.abc as abc
import importlib
import os.path
import xml.etree.ElementTree as ET
from importlib import import_module
from typing import (
    Any,
    TYPE_CHECKING,
)

if TYPE_CHECKING:
    from collections import OrderedDict

name = "json"
print(abc, ET, os.path, Any, importlib.import_module("json"), import_module(name))

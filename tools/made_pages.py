"""The parts of pages that tests and `make bench` make up, in the form that the checks ask for."""

FRONT_MATTER = """\
---
file_format: mystnb
kernelspec:
  name: python3
  language: python
  display_name: Python 3
---
"""

INDEX = """\
# Index

The index.

```{toctree}
:glob:

*
```
"""

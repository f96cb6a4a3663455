"""Checked cells: every output of a page is declared in its source and compared when it is built.

``extension`` is the part that Sphinx loads, ``command_line`` the one for single pages. A page goes
through ``page`` (its source taken apart), ``rules`` and ``form`` (what a source may hold), ``run``
in a ``clean_room``, ``outputs`` (what was shown, ``normalise``) and ``compare``; ``report`` and
``accept`` are for people. ``page_kernel``, beside this package, is what runs in a page's process.
"""

"""The reading site: a VitePress project made of a collection.

Read ``build.py`` first: the steps. ``pages.py`` makes the pages and ``addresses.py`` their names,
``projects.py`` the files of VitePress, ``output.py`` writes the changes, and ``node.py`` runs Node.
"""

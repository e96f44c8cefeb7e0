"""Code that several apps share. Nothing here imports another package of this project.

``problems``, ``cells``, ``files``, ``numbers``, ``words`` and ``yaml_text`` are plain Python; ``append_only``,
``brake`` and ``commands`` need Django.
"""

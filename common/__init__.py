"""Code that several apps share. Nothing here imports another package of this project.

``problems``, ``cells``, ``files``, ``numbers``, ``words`` and ``yaml_text`` are plain Python; ``commands``, ``brake``
and ``sign_in`` need Django.
"""

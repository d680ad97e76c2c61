"""eve's tool-stub contract: what a file or a session says an operation returns, call by call.

``rules`` reads rules, ``constraint`` the JSON Schema of their ``match``, ``names`` finds the operation that each is
for, ``limits`` bounds their size, and ``playback`` is what one session has used of them.
"""

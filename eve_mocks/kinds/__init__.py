"""The families of mocks. A new one is one file here and one line in ``KINDS``."""

"""The names a mock file imports."""

"""The Python API in parts; ``app/api.py`` puts them together."""

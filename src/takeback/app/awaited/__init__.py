"""The awaited Python API in parts, made of ``app/public``; ``app/async_api.py`` has them all."""

"""Everything wired together: the engine that all faces use, and ``Takeback``, the Python API."""

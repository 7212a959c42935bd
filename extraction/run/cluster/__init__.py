"""A run over several machines with Ray: they parse and fill, this process plans and commits."""

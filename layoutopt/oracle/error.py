"""What the oracle raises."""


class OracleError(Exception):
    """The oracle does not know an op or a type."""

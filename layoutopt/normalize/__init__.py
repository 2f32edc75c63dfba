"""What every model goes through before candidates are enumerated."""

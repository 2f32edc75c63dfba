"""What a plan tells its user: the JSON report and the terminal report."""

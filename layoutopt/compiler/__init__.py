"""What is known of the compiler beyond what it documents: one file for each version of IREE."""

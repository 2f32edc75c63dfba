"""StableHLO whose sizes are computed: to what IREE converts."""

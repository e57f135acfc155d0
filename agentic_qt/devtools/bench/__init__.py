"""The benchmark: ratios within one run, never times alone, since machines are noisy."""

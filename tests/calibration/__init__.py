"""Whether intervals cover and tests err as often as they say, by thousands of simulated studies."""

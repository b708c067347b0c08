"""Every bound and rate of the papers as a plain function of its parameters."""

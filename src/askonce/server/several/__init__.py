"""Several archives in one server, each below its name, and a search over all of them."""

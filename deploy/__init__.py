"""Everything that runs HITServer on a machine of its own: units, web servers in front, containers."""

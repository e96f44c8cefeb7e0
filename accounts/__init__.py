"""Who can sign in, with which rights, from where, and the log of it. Every app with pages builds on this one."""

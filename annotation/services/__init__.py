"""Everything that writes: verb first, keyword only, one transaction each."""

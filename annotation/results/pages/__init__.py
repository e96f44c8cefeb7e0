"""The console's pages with reports and exports."""

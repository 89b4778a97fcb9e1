"""One module per verb of the command line: asks the core, prints, returns the exit status."""

"""The rules of `--validate`, one file for each matter. Each rule reads the folder as seen and yields faults."""

"""`python -m data_synthesis`."""

from data_synthesis.command import main

if __name__ == "__main__":
    main()

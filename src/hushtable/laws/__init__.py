"""Laws of noise, exact and in floats; rules of acceptance; and the exact numbers they are built from."""

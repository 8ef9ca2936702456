"""The version of this software, which a release tells. To ask the installed package for it takes 10 ms."""

VERSION = "0.1.0"

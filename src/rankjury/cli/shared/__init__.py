"""Shared parts of commands: options, tables, console."""

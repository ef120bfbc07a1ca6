"""Help for tests. Never imported by `import tocha`."""
